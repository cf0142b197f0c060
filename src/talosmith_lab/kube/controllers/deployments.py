"""Deployments: a ReplicaSet for each template they have had, the newest grown and the others shrunk in steps."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.controllers.objects import (
    DEPLOYMENT,
    REPLICA_SET,
    annotations_of,
    condition,
    controller_of,
    going,
    hashed,
    key_of,
    labels_of,
    reference,
    share,
    split,
    with_condition,
)
from talosmith_lab.kube.controllers.work import MANAGER, Controller
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.writing import copied

REVISION = "deployment.kubernetes.io/revision"
_DESIRED, _MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
_PAST = "deployment.kubernetes.io/revision-history"
_HASH = "pod-template-hash"
_SOURCE = "deployment-controller"
_KEPT_TO_ITSELF = (REVISION, _DESIRED, _MOST, "kubectl.kubernetes.io/last-applied-configuration")


class Deployments(Controller):
    name = "deployments"
    watches = (DEPLOYMENT, REPLICA_SET)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == DEPLOYMENT.root:
            if now is not None:
                yield key_of(now)
            return
        for one in filter(None, (before, now)):
            owner = controller_of(one)
            if owner is not None and owner["kind"] == "Deployment":
                yield f"{one['metadata']['namespace']}/{owner['name']}"

    def reconcile(self, key: str) -> None:
        found = self.api.find(DEPLOYMENT, *split(key))
        if found is None:
            return
        if not going(found):
            sets = self._sets(found)
            new = self._new_set(found, sets)
            sets = self._sets(found)
            if new is not None:
                self._roll(found, new, [one for one in sets if one["metadata"]["uid"] != new["metadata"]["uid"]])
                self._forget(found, new)
            else:
                self._scale_paused(found, sets)
        self._report(key)

    def _sets(self, deployment: Obj) -> list[Obj]:
        """Its ReplicaSets, oldest first."""
        found = self.work.index.dependents.get(deployment["metadata"]["uid"], {})
        sets = [
            stored.obj
            for key, kind in found.items()
            if kind.root == REPLICA_SET.root and (stored := self.api.kubernetes.storage.get(key)) is not None
        ]
        return sorted(sets, key=lambda one: (_revision(one), one["metadata"]["creationTimestamp"]))

    # The newest template

    def _new_set(self, deployment: Obj, sets: list[Obj]) -> Obj | None:
        """That of the present template, made if there is none; None while the deployment is paused without one."""
        template = deployment["spec"]["template"]
        new = next((one for one in sets if _template(one) == _template(deployment)), None)
        highest = max((_revision(one) for one in sets if one is not new), default=0)
        if new is None:
            if deployment["spec"].get("paused"):
                return None
            new = self._make_set(deployment, template, highest + 1)
        elif _revision(new) <= highest:
            notes = annotations_of(new)
            past = ",".join(filter(None, (notes.get(_PAST), notes.get(REVISION))))
            new = self._noted(REPLICA_SET, new, {REVISION: str(highest + 1), _PAST: past})
        found = self.api.find(DEPLOYMENT, *split(key_of(deployment))) or deployment
        if annotations_of(found).get(REVISION) != annotations_of(new).get(REVISION):
            self._noted(DEPLOYMENT, found, {REVISION: annotations_of(new)[REVISION]})
        return new

    def _noted(self, kind: Kind, obj: Obj, annotations: Obj) -> Obj:
        metadata = {**obj["metadata"], "annotations": {**annotations_of(obj), **annotations}}
        return self.work.put(kind, {**obj, "metadata": metadata})

    def _make_set(self, deployment: Obj, template: Obj, revision: int) -> Obj:
        metadata, spec = deployment["metadata"], deployment["spec"]
        short = hashed(template, (deployment.get("status") or {}).get("collisionCount", 0))
        template = copied(template)
        template.setdefault("metadata", {}).setdefault("labels", {})[_HASH] = short
        selector = copied(spec["selector"])
        selector.setdefault("matchLabels", {})[_HASH] = short
        kept = {name: value for name, value in annotations_of(deployment).items() if name not in _KEPT_TO_ITSELF}
        wanted = int(spec.get("replicas", 1))
        surge = _limits(deployment)[0]
        made = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{metadata['name']}-{short}",
                "labels": template["metadata"]["labels"],
                "annotations": {
                    **kept,
                    REVISION: str(revision),
                    _DESIRED: str(wanted),
                    _MOST: str(wanted + surge),
                },
                "ownerReferences": [reference(DEPLOYMENT, deployment)],
            },
            "spec": {
                "replicas": 0,
                "selector": selector,
                "template": template,
                **({"minReadySeconds": spec["minReadySeconds"]} if spec.get("minReadySeconds") else {}),
            },
        }
        self.api.create(REPLICA_SET, made, metadata["namespace"], how=MANAGER)
        found = self.api.find(REPLICA_SET, f"{metadata['name']}-{short}", metadata["namespace"])
        assert found is not None  # noqa: S101 - it was just made
        return found

    # From old to new

    def _roll(self, deployment: Obj, new: Obj, old: list[Obj]) -> None:
        wanted = int(deployment["spec"].get("replicas", 1))
        surge, missing = _limits(deployment)
        if deployment["spec"].get("paused"):
            self._scale_paused(deployment, [*old, new])
            return
        size, others = _size(new), sum(map(_size, old))
        if (deployment["spec"].get("strategy") or {}).get("type") == "Recreate":
            self._recreate(deployment, new, old, wanted)
            return
        if size > wanted or not others:
            self._scale(deployment, new, wanted)
        elif size < wanted:
            self._scale(deployment, new, min(wanted, size + max(0, wanted + surge - size - others)))
        new = self.api.find(REPLICA_SET, *split(key_of(new))) or new
        self._shrink(deployment, new, old, wanted - missing)

    def _shrink(self, deployment: Obj, new: Obj, old: list[Obj], least: int) -> None:
        """As many fewer of the old as may be missing; those that are not ready do not count."""
        total = sum(map(_size, old)) + _size(new)
        spare = total - least - max(0, _size(new) - _ready(new))
        if spare <= 0:
            return
        for one in old:
            idle = min(_size(one) - _ready(one), max(spare, 0))
            if idle > 0:
                self._scale(deployment, one, _size(one) - idle)
                spare -= idle
        free = sum(_ready(one) for one in (new, *old)) - least
        for one in [self.api.find(REPLICA_SET, *split(key_of(one))) or one for one in old]:
            step = min(_size(one), max(free, 0))
            if step > 0:
                self._scale(deployment, one, _size(one) - step)
                free -= step

    def _recreate(self, deployment: Obj, new: Obj, old: list[Obj], wanted: int) -> None:
        for one in old:
            self._scale(deployment, one, 0)
        if not any(self.work.index.pods_of(one["metadata"]["uid"]).active for one in old):
            self._scale(deployment, new, wanted)

    def _scale_paused(self, deployment: Obj, sets: list[Obj]) -> None:
        """While paused, what there is keeps to the wanted number."""
        active = [one for one in sets if _size(one)] or sets[-1:]
        wanted = int(deployment["spec"].get("replicas", 1))
        extra = wanted - sum(map(_size, active))
        for one in reversed(active):
            size = max(0, _size(one) + extra)
            extra -= size - _size(one)
            self._scale(deployment, one, size)

    def _scale(self, deployment: Obj, one: Obj, size: int) -> None:
        wanted = int(deployment["spec"].get("replicas", 1))
        notes = {_DESIRED: str(wanted), _MOST: str(wanted + _limits(deployment)[0])}
        before = _size(one)
        if size == before and notes.items() <= annotations_of(one).items():
            return
        metadata = {**one["metadata"], "annotations": {**annotations_of(one), **notes}}
        if size != before:
            metadata["generation"] = metadata.get("generation", 1) + 1
        self.work.put(REPLICA_SET, {**one, "metadata": metadata, "spec": {**one["spec"], "replicas": size}})
        if size != before:
            way = "up" if size > before else "down"
            told = f"Scaled {way} replica set {one['metadata']['name']} from {before} to {size}"
            self.work.event(deployment, "ScalingReplicaSet", told, source=_SOURCE)

    def _forget(self, deployment: Obj, new: Obj) -> None:
        """Old sets without pods, beyond those that are kept to go back to."""
        kept = int(deployment["spec"].get("revisionHistoryLimit", 10))
        idle = [one for one in self._sets(deployment) if one["metadata"]["uid"] != new["metadata"]["uid"]]
        idle = [one for one in idle if not _size(one) and not (one.get("status") or {}).get("replicas")]
        for one in idle[: max(0, len(idle) - kept)]:
            self.api.delete(REPLICA_SET, one["metadata"]["name"], one["metadata"]["namespace"], how=MANAGER)

    # How it goes

    def _report(self, key: str) -> None:
        deployment = self.api.find(DEPLOYMENT, *split(key))
        if deployment is None:
            return
        sets, now = self._sets(deployment), self.work.now
        new = next((one for one in sets if _template(one) == _template(deployment)), None)
        before = deployment.get("status") or {}
        wanted = int(deployment["spec"].get("replicas", 1))
        total, ready = (sum(_told(one, name) for one in sets) for name in ("replicas", "readyReplicas"))
        updated = _told(new, "replicas") if new is not None else 0
        available = sum(_told(one, "availableReplicas") for one in sets)
        leaving = sum(_told(one, "terminatingReplicas") for one in sets)
        counts = {
            "observedGeneration": deployment["metadata"].get("generation", 1),
            "replicas": total,
            "updatedReplicas": updated,
            "readyReplicas": ready,
            "availableReplicas": available,
            "unavailableReplicas": max(0, max(total, wanted) - available),
            "terminatingReplicas": leaving,
        }
        status: Obj = {name: count for name, count in counts.items() if count or name == "terminatingReplicas"}
        conditions = with_condition(
            before.get("conditions"), _available(available >= wanted - _limits(deployment)[1]), now, updated=True
        )
        done = updated == wanted == total == available
        told = _progress(deployment, new, done, before)
        if told is not None:
            conditions = with_condition(conditions, told, now, updated=True)
        status["conditions"] = conditions
        if before.get("collisionCount"):
            status["collisionCount"] = before["collisionCount"]
        self._deadline(deployment, key, told)
        self.work.set_status(DEPLOYMENT, deployment, status)

    def _deadline(self, deployment: Obj, key: str, told: Obj | None) -> None:
        """A rollout that gets nowhere is said to have failed after a while."""
        self.work.cancel(self, "late", key)
        if told is not None and told["reason"] in ("ReplicaSetUpdated", "NewReplicaSetCreated"):
            seconds = float(deployment["spec"].get("progressDeadlineSeconds", 600))
            self.work.after(self, "late", key, "rollout-deadline", factor=seconds / 600)

    def elapsed(self, what: str, key: str) -> None:
        deployment = self.api.find(DEPLOYMENT, *split(key))
        progressing = condition(deployment or {}, "Progressing")
        if deployment is None or progressing is None or progressing.get("reason") == "NewReplicaSetAvailable":
            return
        new = self._sets(deployment)[-1:]
        name = (
            f'ReplicaSet "{new[0]["metadata"]["name"]}"' if new else f'Deployment "{deployment["metadata"]["name"]}"'
        )
        told = {
            "type": "Progressing",
            "status": "False",
            "reason": "ProgressDeadlineExceeded",
            "message": f"{name} has timed out progressing.",
        }
        status = deployment["status"]
        conditions = with_condition(status.get("conditions"), told, self.work.now, updated=True)
        self.work.set_status(DEPLOYMENT, deployment, {**status, "conditions": conditions})


def _progress(deployment: Obj, new: Obj | None, done: bool, before: Obj) -> Obj | None:
    old = next((one for one in before.get("conditions") or () if one["type"] == "Progressing"), None)
    if deployment["spec"].get("paused"):
        words = {"reason": "DeploymentPaused", "message": "Deployment is paused"}
        return {"type": "Progressing", "status": "Unknown", **words}
    if new is None:
        return None
    name = new["metadata"]["name"]
    if done:
        words = {"reason": "NewReplicaSetAvailable", "message": f'ReplicaSet "{name}" has successfully progressed.'}
        return {"type": "Progressing", "status": "True", **words}
    finished = old is not None and old.get("reason") == "NewReplicaSetAvailable" and f'"{name}"' in old["message"]
    late = old is not None and old.get("reason") == "ProgressDeadlineExceeded" and f'"{name}"' in old["message"]
    if finished or late:  # only scaled since then, or still stuck
        return old
    if not _told(new, "replicas"):
        words = {"reason": "NewReplicaSetCreated", "message": f'Created new replica set "{name}"'}
    else:
        words = {"reason": "ReplicaSetUpdated", "message": f'ReplicaSet "{name}" is progressing.'}
    return {"type": "Progressing", "status": "True", **words}


def _available(enough: bool) -> Obj:
    if enough:
        words = {"reason": "MinimumReplicasAvailable", "message": "Deployment has minimum availability."}
        return {"type": "Available", "status": "True", **words}
    words = {"reason": "MinimumReplicasUnavailable", "message": "Deployment does not have minimum availability."}
    return {"type": "Available", "status": "False", **words}


def _limits(deployment: Obj) -> tuple[int, int]:
    """How many more and how many fewer than wanted there may be on the way."""
    strategy = deployment["spec"].get("strategy") or {}
    wanted = int(deployment["spec"].get("replicas", 1))
    if strategy.get("type") == "Recreate":
        return 0, wanted
    rolling = strategy.get("rollingUpdate") or {}
    surge = share(rolling.get("maxSurge", "25%"), wanted, up=True)
    missing = share(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    return (surge, missing) if surge or missing else (0, 1)


def _template(obj: Obj) -> Obj:
    """Without what only the set adds."""
    template: Obj = obj["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = {name: value for name, value in labels_of({"metadata": metadata}).items() if name != _HASH}
    kept = {name: value for name, value in metadata.items() if name not in ("labels", "creationTimestamp")}
    return {**template, "metadata": {**kept, "labels": labels}}


def _revision(one: Obj) -> int:
    return int(annotations_of(one).get(REVISION, 0))


def _size(one: Obj) -> int:
    return int(one["spec"].get("replicas", 1))


def _ready(one: Obj) -> int:
    return _told(one, "availableReplicas")


def _told(one: Obj, name: str) -> int:
    return int((one.get("status") or {}).get(name, 0))
