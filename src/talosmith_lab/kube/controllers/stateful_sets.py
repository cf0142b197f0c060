"""StatefulSets: pods with names that stay, created one after the other and deleted in the opposite order."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.controllers import revisions
from talosmith_lab.kube.controllers.making_pods import delete_pod, make_pod
from talosmith_lab.kube.controllers.objects import (
    POD,
    STATEFUL_SET,
    controller_of,
    going,
    is_over,
    is_ready,
    key_of,
    labels_of,
    split,
)
from talosmith_lab.kube.controllers.work import MANAGER, Controller
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind, Obj, find

CLAIM = find("v1", "PersistentVolumeClaim")
_SOURCE = "statefulset-controller"


class StatefulSets(Controller):
    name = "stateful-sets"
    watches = (STATEFUL_SET, POD)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == STATEFUL_SET.root:
            if now is not None:
                yield key_of(now)
            return
        pod = now or before or {}
        owner = controller_of(pod)
        if owner is not None and owner["kind"] == "StatefulSet":
            yield f"{pod['metadata']['namespace']}/{owner['name']}"

    def reconcile(self, key: str) -> None:
        found = self.api.find(STATEFUL_SET, *split(key))
        if found is None:
            return
        revision = f"{found['metadata']['name']}-{revisions.current(self.work, STATEFUL_SET, found)}"
        if not going(found):
            self._sync(found, revision)
        self._report(found, revision)

    def _sync(self, owner: Obj, revision: str) -> None:
        wanted = int(owner["spec"].get("replicas", 1))
        together = owner["spec"].get("podManagementPolicy") == "Parallel"
        pods = self._pods(owner)
        for number in range(wanted):
            pod = pods.get(number)
            if pod is not None and is_over(pod) and not going(pod):
                self._remove(owner, pod)
                pod = self._pods(owner).get(number)
            if pod is None:
                self._make(owner, number, self._revision_for(owner, number, revision))
                if not together:
                    return
            elif (going(pod) or not is_ready(pod)) and not together:
                self._replace_broken(owner, pod, number, revision)
                return
        for number in sorted((one for one in pods if one >= wanted), reverse=True):
            if not going(pods[number]):
                self._remove(owner, pods[number])
            if not together:
                return
        self._update(owner, self._pods(owner), wanted, revision)

    def _pods(self, owner: Obj) -> dict[int, Obj]:
        found = self.work.index.pods_of(owner["metadata"]["uid"]).all.values()
        return {int(pod["metadata"]["name"].rpartition("-")[2]): pod for pod in found}

    def _partition(self, owner: Obj) -> int | None:
        """From which pod on the newest template counts; None: it is left to who deletes them."""
        strategy = owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return None
        return int((strategy.get("rollingUpdate") or {}).get("partition") or 0)

    def _revision_for(self, owner: Obj, number: int, revision: str) -> str:
        partition = self._partition(owner)
        current = (owner.get("status") or {}).get("currentRevision", "")
        return current if partition is not None and number < partition and current else revision

    def _replace_broken(self, owner: Obj, pod: Obj, number: int, revision: str) -> None:
        """One that never became ready does not hold up the template that may mend it."""
        partition = self._partition(owner)
        old = labels_of(pod).get(revisions.HASH) != revision
        if old and not going(pod) and partition is not None and number >= partition:
            self._remove(owner, pod)

    def _update(self, owner: Obj, pods: dict[int, Obj], wanted: int, revision: str) -> None:
        """The last one first, each when the one before it is ready again."""
        partition = self._partition(owner)
        if partition is None:
            return
        for number in range(wanted - 1, partition - 1, -1):
            pod = pods.get(number)
            if pod is None or going(pod):
                return
            if labels_of(pod).get(revisions.HASH) != revision:
                self._remove(owner, pod)
                return
            if not is_ready(pod):
                return

    def _make(self, owner: Obj, number: int, revision: str) -> None:
        metadata, spec = owner["metadata"], owner["spec"]
        name = f"{metadata['name']}-{number}"
        labels = {
            "apps.kubernetes.io/pod-index": str(number),
            revisions.HASH: revision,
            "statefulset.kubernetes.io/pod-name": name,
        }
        changes: Obj = {"hostname": name, "subdomain": spec.get("serviceName", "")}
        volumes = self._claims(owner, name)
        if volumes:
            changes["volumes"] = [*(spec["template"]["spec"].get("volumes") or ()), *volumes]
        try:
            make_pod(self.work, STATEFUL_SET, owner, name=name, labels=labels, spec=changes)
        except ApiError as refused:
            told = f"create Pod {name} in StatefulSet {metadata['name']} failed error: {refused.message}"
            self.work.event(owner, "FailedCreate", told, source=_SOURCE, type="Warning")
            return
        told = f"create Pod {name} in StatefulSet {metadata['name']} successful"
        self.work.event(owner, "SuccessfulCreate", told, source=_SOURCE)

    def _claims(self, owner: Obj, pod: str) -> list[Obj]:
        """Each pod has claims of its own, which outlive it."""
        volumes = []
        for template in owner["spec"].get("volumeClaimTemplates") or ():
            name = f"{template['metadata']['name']}-{pod}"
            labels = (owner["spec"].get("selector") or {}).get("matchLabels") or {}
            metadata = {"name": name, "namespace": owner["metadata"]["namespace"], "labels": labels}
            claim = {"apiVersion": "v1", "kind": CLAIM.kind, "metadata": metadata, "spec": template["spec"]}
            self.work.ensure(CLAIM, claim, MANAGER)
            volumes.append({"name": template["metadata"]["name"], "persistentVolumeClaim": {"claimName": name}})
        return volumes

    def _remove(self, owner: Obj, pod: Obj) -> None:
        delete_pod(self.work, pod)
        told = f"delete Pod {pod['metadata']['name']} in StatefulSet {owner['metadata']['name']} successful"
        self.work.event(owner, "SuccessfulDelete", told, source=_SOURCE)

    def _report(self, owner: Obj, revision: str) -> None:
        found = self.api.find(STATEFUL_SET, *split(key_of(owner)))
        if found is None:
            return
        before, pods = found.get("status") or {}, [pod for pod in self._pods(owner).values() if not is_over(pod)]
        wanted = int(owner["spec"].get("replicas", 1))
        updated = sum(1 for pod in pods if labels_of(pod).get(revisions.HASH) == revision and not going(pod))
        ready = sum(1 for pod in pods if is_ready(pod))
        done = updated == wanted and ready == wanted and len(pods) == wanted
        current = revision if done else before.get("currentRevision") or revision
        status: Obj = {
            "observedGeneration": found["metadata"].get("generation", 1),
            "replicas": len(pods),
            "availableReplicas": ready,
            "currentRevision": current,
            "updateRevision": revision,
            "collisionCount": 0,
        }
        counts = {
            "readyReplicas": ready,
            "currentReplicas": sum(1 for pod in pods if labels_of(pod).get(revisions.HASH) == current),
            "updatedReplicas": updated,
        }
        status |= {part: count for part, count in counts.items() if count}
        self.work.set_status(STATEFUL_SET, found, status)
