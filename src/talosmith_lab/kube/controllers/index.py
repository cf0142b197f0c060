"""Which pods are where and whose, and who depends on whom: kept current with each change; no search is needed."""

from __future__ import annotations

from dataclasses import dataclass, field

from talosmith_lab.kube.controllers.objects import POD, controller_of, is_active, is_ready
from talosmith_lab.kube.kinds import Kind, Obj


@dataclass(slots=True)
class Pods:
    """Pods of one owner, or on one node, by key; those that count, and those of them that are ready."""

    all: dict[str, Obj] = field(default_factory=dict)
    active: int = 0
    ready: int = 0

    def put(self, key: str, pod: Obj) -> None:
        self.all[key] = pod
        if is_active(pod):
            self.active += 1
            self.ready += is_ready(pod)

    def drop(self, key: str, pod: Obj) -> None:
        if self.all.pop(key, None) is not None and is_active(pod):
            self.active -= 1
            self.ready -= is_ready(pod)


@dataclass(slots=True)
class Index:
    on_node: dict[str, Pods] = field(default_factory=dict)
    owned: dict[str, Pods] = field(default_factory=dict)  # by the uid of the controller
    alone: dict[str, dict[str, Obj]] = field(default_factory=dict)  # pods without a controller, by namespace
    spread: dict[str, dict[str, int]] = field(default_factory=dict)  # how many of a controller's pods, by node
    uids: set[str] = field(default_factory=set)
    dependents: dict[str, dict[str, Kind]] = field(default_factory=dict)  # keys in etcd, by the uid of an owner

    def changed(self, kind: Kind, key: str, before: Obj | None, now: Obj | None) -> None:
        if before is not None:
            self._owners(kind, key, before, add=False)
            if kind.root == POD.root:
                self._pod(key, before, add=False)
            if now is None or now["metadata"]["uid"] != before["metadata"]["uid"]:
                self.uids.discard(before["metadata"]["uid"])
        if now is not None:
            self.uids.add(now["metadata"]["uid"])
            self._owners(kind, key, now, add=True)
            if kind.root == POD.root:
                self._pod(key, now, add=True)

    def pods_on(self, node: str) -> Pods:
        return self.on_node.get(node) or Pods()

    def pods_of(self, uid: str) -> Pods:
        return self.owned.get(uid) or Pods()

    def _owners(self, kind: Kind, key: str, obj: Obj, *, add: bool) -> None:
        for owner in obj["metadata"].get("ownerReferences") or ():
            found = self.dependents.setdefault(owner["uid"], {})
            if add:
                found[key] = kind
            else:
                found.pop(key, None)
                if not found:
                    del self.dependents[owner["uid"]]

    def _pod(self, key: str, pod: Obj, *, add: bool) -> None:
        node, owner = pod["spec"].get("nodeName"), controller_of(pod)
        if owner is None:
            alone = self.alone.setdefault(pod["metadata"]["namespace"], {})
            if add:
                alone[key] = pod
            else:
                alone.pop(key, None)
        places = [(self.on_node, node)] if node else []
        if owner is not None:
            places.append((self.owned, owner["uid"]))
        for groups, name in places:
            pods = groups.get(name)
            if pods is None:
                pods = groups[name] = Pods()
            if add:
                pods.put(key, pod)
                continue
            pods.drop(key, pod)
            if not pods.all:
                del groups[name]
        if node and owner is not None and is_active(pod):
            counts = self.spread.setdefault(owner["uid"], {})
            counts[node] = counts.get(node, 0) + (1 if add else -1)
            if counts[node] <= 0:
                del counts[node]
            if not counts:
                del self.spread[owner["uid"]]
