"""ReplicaSets: as many pods of one kind as are wanted."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.controllers.making_pods import delete_pod, make_pod, worth
from talosmith_lab.kube.controllers.objects import (
    POD,
    REPLICA_SET,
    controller_of,
    going,
    is_active,
    key_of,
    labels_of,
    reference,
    split,
    with_condition,
)
from talosmith_lab.kube.controllers.work import Controller, Work
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.selectors import selects

AT_ONCE = 50  # pods made or deleted at a stretch; others have their turn in between
_SOURCE = "replicaset-controller"


class ReplicaSets(Controller):
    name = "replica-sets"
    watches = (REPLICA_SET, POD)

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self._relabelled: dict[str, None] = {}  # places of pods

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == REPLICA_SET.root:
            if now is not None:
                yield key_of(now)
            return
        for pod in filter(None, (before, now)):
            owner = controller_of(pod)
            if owner is not None and owner["kind"] == "ReplicaSet":
                yield f"{pod['metadata']['namespace']}/{owner['name']}"
        if (
            before is not None
            and now is not None
            and before["metadata"].get("labels") != now["metadata"].get("labels")
        ):
            self._relabelled[POD.key(now["metadata"]["namespace"], now["metadata"]["name"])] = None
        if now is not None and controller_of(now) is None and is_active(now):
            for one in self.api.items(REPLICA_SET, now["metadata"]["namespace"]):
                if selects(one["spec"].get("selector"), labels_of(now)):
                    yield key_of(one)

    def reconcile(self, key: str) -> None:
        found = self.api.find(REPLICA_SET, *split(key))
        if found is None:
            return
        if not going(found):
            self._take_up(found)
            self._let_go(found)
        pods = self.work.index.pods_of(found["metadata"]["uid"])
        wanted = int(found["spec"].get("replicas", 1))
        problem = ""
        if not going(found):
            if pods.active < wanted:
                problem = self._make(found, min(AT_ONCE, wanted - pods.active))
            elif pods.active > wanted:
                self._remove(found, pods.active - wanted)
            pods = self.work.index.pods_of(found["metadata"]["uid"])
            if pods.active != wanted and not problem:
                self.work.look_at(self.name, key)
        self._report(found, problem)

    def _take_up(self, owner: Obj) -> None:
        """Pods without a controller that match."""
        for pod in list(self.work.index.alone.get(owner["metadata"]["namespace"], {}).values()):
            if is_active(pod) and selects(owner["spec"].get("selector"), labels_of(pod)):
                owners = [*(pod["metadata"].get("ownerReferences") or ()), reference(REPLICA_SET, owner)]
                self.work.put(POD, {**pod, "metadata": {**pod["metadata"], "ownerReferences": owners}})

    def _let_go(self, owner: Obj) -> None:
        """Pods whose labels no longer fit are left to themselves."""
        uid = owner["metadata"]["uid"]
        for place in [place for place in self._relabelled if place in self.work.index.pods_of(uid).all]:
            del self._relabelled[place]
            pod = self.work.index.pods_of(uid).all[place]
            if not selects(owner["spec"].get("selector"), labels_of(pod)):
                metadata = {**pod["metadata"]}
                left = [one for one in metadata.pop("ownerReferences") if one["uid"] != uid]
                self.work.put(POD, {**pod, "metadata": {**metadata, **({"ownerReferences": left} if left else {})}})

    def _make(self, owner: Obj, count: int) -> str:
        for _ in range(count):
            try:
                made = make_pod(self.work, REPLICA_SET, owner)
            except ApiError as refused:
                told = f"Error creating: {refused.message}"
                self.work.event(owner, "FailedCreate", told, source=_SOURCE, type="Warning")
                return refused.message
            self.work.event(owner, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}", source=_SOURCE)
        return ""

    def _remove(self, owner: Obj, count: int) -> None:
        """Those first that are worth least."""
        pods = [pod for pod in self.work.index.pods_of(owner["metadata"]["uid"]).all.values() if is_active(pod)]
        spread = self.work.index.spread.get(owner["metadata"]["uid"], {})
        for pod in sorted(pods, key=lambda pod: worth(pod, spread))[: min(count, AT_ONCE)]:
            delete_pod(self.work, pod)
            self.work.event(owner, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}", source=_SOURCE)

    def _report(self, owner: Obj, problem: str) -> None:
        pods = self.work.index.pods_of(owner["metadata"]["uid"])
        before = owner.get("status") or {}
        status: Obj = {"replicas": pods.active}
        labels = labels_of(owner["spec"].get("template", {"metadata": {}})) if pods.active else {}
        few = pods.active < AT_ONCE  # of many it is taken for granted
        same = not few or all(labels_of(pod).items() >= labels.items() for pod in pods.all.values())
        counts = {
            "fullyLabeledReplicas": pods.active if same else 0,
            "readyReplicas": pods.ready,
            "availableReplicas": pods.ready,
            "terminatingReplicas": sum(map(going, pods.all.values())) if pods.active < len(pods.all) else 0,
            "observedGeneration": owner["metadata"].get("generation", 1),
        }
        status |= {name: count for name, count in counts.items() if count or name == "terminatingReplicas"}
        conditions = [one for one in before.get("conditions") or () if one["type"] != "ReplicaFailure"]
        if problem:
            told = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": problem}
            conditions = with_condition(before.get("conditions"), told, self.work.now)
        if conditions:
            status["conditions"] = conditions
        self.work.set_status(REPLICA_SET, self.api.find(REPLICA_SET, *split(key_of(owner))) or owner, status)
