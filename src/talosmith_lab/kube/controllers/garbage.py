"""Garbage: what is owned goes with its owners. In the background, before the owner is gone, or not at all."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.controllers.objects import going
from talosmith_lab.kube.controllers.work import MANAGER, Controller
from talosmith_lab.kube.deleting import FOREGROUND, ORPHAN
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.writing import copied

_OWNER, _OBJECT = "owner:", "object:"


class Garbage(Controller):
    """Keys are the uid of an owner that is gone, or the place in etcd of an object to look at."""

    name = "garbage"
    watches_all = True

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        metadata = (now or before or {})["metadata"]
        place = kind.key(metadata.get("namespace", ""), metadata["name"])
        if now is None:
            if metadata["uid"] in self.work.index.dependents:
                yield f"{_OWNER}{metadata['uid']}"
            for owner in metadata.get("ownerReferences") or ():
                if owner.get("blockOwnerDeletion"):
                    yield from self._holder(owner, metadata.get("namespace", ""))
            return
        held = going(now) and {FOREGROUND, ORPHAN} & set(metadata.get("finalizers") or ())
        if held or (before is None and metadata.get("ownerReferences") and not going(now)):
            yield f"{_OBJECT}{place}"

    def _holder(self, owner: Obj, namespace: str) -> Iterable[str]:
        """An owner that may only wait for what has just gone."""
        kind = self.work.kubernetes.kinds.named(owner["apiVersion"], owner["kind"])
        if kind is not None and owner["uid"] in self.work.index.uids:
            yield f"{_OBJECT}{kind.key(namespace if kind.namespaced else '', owner['name'])}"

    def reconcile(self, key: str) -> None:
        if key.startswith(_OWNER):
            for place in list(self.work.index.dependents.get(key.removeprefix(_OWNER), {})):
                self._look_at(place)
            return
        self._look_at(key.removeprefix(_OBJECT))

    def _look_at(self, place: str) -> None:
        stored = self.work.kubernetes.storage.get(place)
        obj = stored.obj if stored is not None else None
        kind = self.work.kubernetes.kinds.named(obj["apiVersion"], obj["kind"]) if obj is not None else None
        if obj is None or kind is None:
            return
        held = obj["metadata"].get("finalizers") or ()
        if going(obj) and ORPHAN in held:
            self._orphan(kind, obj)
        elif going(obj) and FOREGROUND in held:
            self._foreground(kind, obj)
        elif not going(obj):
            self._absent_owners(kind, obj)

    def _absent_owners(self, kind: Kind, obj: Obj) -> None:
        owners = obj["metadata"].get("ownerReferences") or ()
        present = [owner for owner in owners if owner["uid"] in self.work.index.uids]
        if not owners or len(present) == len(owners):
            return
        if present:
            self._write(kind, obj, {"ownerReferences": present})
            return
        metadata = obj["metadata"]
        options = {"propagationPolicy": "Background", "preconditions": {"uid": metadata["uid"]}}
        self.api.delete(kind, metadata["name"], metadata.get("namespace", ""), options=options, how=MANAGER)

    def _orphan(self, kind: Kind, obj: Obj) -> None:
        uid = obj["metadata"]["uid"]
        for place, theirs in list(self.work.index.dependents.get(uid, {}).items()):
            stored = self.work.kubernetes.storage.get(place)
            if stored is not None:
                owners = [one for one in stored.obj["metadata"].get("ownerReferences") or () if one["uid"] != uid]
                self._write(theirs, stored.obj, {"ownerReferences": owners})
        self._release(kind, obj, ORPHAN)

    def _foreground(self, kind: Kind, obj: Obj) -> None:
        uid = obj["metadata"]["uid"]
        blocking = 0
        for place, theirs in list(self.work.index.dependents.get(uid, {}).items()):
            stored = self.work.kubernetes.storage.get(place)
            if stored is None:
                continue
            metadata = stored.obj["metadata"]
            owners = metadata.get("ownerReferences") or ()
            blocking += any(one["uid"] == uid and one.get("blockOwnerDeletion") for one in owners)
            if not going(stored.obj) and all(self._leaves(one) for one in owners):
                options = {"propagationPolicy": "Foreground"}
                self.api.delete(theirs, metadata["name"], metadata.get("namespace", ""), options=options, how=MANAGER)
                if self.work.kubernetes.storage.get(place) is None:
                    blocking -= 1
        if blocking <= 0:
            self._release(kind, obj, FOREGROUND)

    def _leaves(self, owner: Obj) -> bool:
        """Whether an owner is gone, or waits for what it owns to go."""
        if owner["uid"] not in self.work.index.uids:
            return True
        kind = self.work.kubernetes.kinds.named(owner["apiVersion"], owner["kind"])
        if kind is None:
            return False
        dependents = self.work.index.dependents.get(owner["uid"], {})
        spaces = {place.removeprefix(theirs.root).rpartition("/")[0] for place, theirs in dependents.items()}
        for space in spaces | {""}:
            stored = self.work.kubernetes.storage.get(kind.key(space, owner["name"]))
            if stored is not None and stored.obj["metadata"]["uid"] == owner["uid"]:
                return going(stored.obj) and FOREGROUND in (stored.obj["metadata"].get("finalizers") or ())
        return False

    def _write(self, kind: Kind, obj: Obj, changes: Obj) -> None:
        metadata = {**obj["metadata"], **changes}
        self.work.put(kind, {**obj, "metadata": {name: one for name, one in metadata.items() if one != []}})

    def _release(self, kind: Kind, obj: Obj, finalizer: str) -> None:
        metadata = obj["metadata"]
        found = self.api.find(kind, metadata["name"], metadata.get("namespace", ""))
        if found is None or finalizer not in (found["metadata"].get("finalizers") or ()):
            return
        free = copied(found)
        free["metadata"]["finalizers"] = [one for one in free["metadata"]["finalizers"] if one != finalizer]
        self.api.update(kind, free, how=MANAGER)
