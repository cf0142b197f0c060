"""Namespaces that were deleted: all that is in them goes first, then they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from talosmith_lab.kube.controllers.objects import NAMESPACE, POD, going, with_condition
from talosmith_lab.kube.controllers.work import MANAGER, Controller, Work
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.writing import copied

_AT_ONCE = 200
_WELL = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)
_FREE = {"reason": "ContentHasNoFinalizers", "message": "All content-preserving finalizers finished"}


class Namespaces(Controller):
    name = "namespaces"
    watches_all = True

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self._going: set[str] = set()

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == NAMESPACE.root:
            name = (now or before or {})["metadata"]["name"]
            if now is not None and going(now):
                self._going.add(name)
                yield name
            else:
                self._going.discard(name)
        elif now is None and before is not None and before["metadata"].get("namespace") in self._going:
            yield before["metadata"]["namespace"]

    def reconcile(self, key: str) -> None:
        namespace = self.api.find(NAMESPACE, key)
        if namespace is None or not going(namespace):
            return
        left = 0
        for kind, obj in self._content(key):
            left += 1
            if left > _AT_ONCE:
                self.work.look_at(self.name, key)
                return
            if not going(obj):
                try:
                    self.api.delete(kind, obj["metadata"]["name"], key, how=MANAGER)
                except ApiError:
                    continue
        remaining = [(kind, obj) for kind, obj in self._content(key) if kind.plural != "events"]
        if remaining:
            self._tell(namespace, remaining)
            return
        for kind, obj in self._content(key):  # what deleting the rest was told with
            self.api.remove(kind, obj["metadata"]["name"], key)
        self._finish(namespace)

    def _content(self, namespace: str) -> Iterator[tuple[Kind, Obj]]:
        """Pods first, as they take longest; events last, as deleting the rest makes more of them."""
        kinds = {kind.root: kind for kind in self.work.kubernetes.kinds if kind.namespaced and kind.stored_as}
        for kind in sorted(kinds.values(), key=lambda kind: (kind.root != POD.root, kind.plural == "events")):
            for _, stored in list(self.work.kubernetes.storage.under(f"{kind.root}{namespace}/")):
                yield kind, stored.obj

    def _tell(self, namespace: Obj, remaining: list[tuple[Kind, Obj]]) -> None:
        counts = Counter(f"{kind.plural}.{kind.group}" for kind, _ in remaining)
        held = Counter(name for _, obj in remaining for name in obj["metadata"].get("finalizers") or ())
        kinds = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(counts.items()))
        holders = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(held.items()))
        status = namespace.get("status") or {}
        conditions = status.get("conditions")
        for kind, reason, message in _WELL:
            told = {"type": kind, "status": "False", "reason": reason, "message": message}
            conditions = with_condition(conditions, told, self.work.now)
        words = {"reason": "SomeResourcesRemain", "message": f"Some resources are remaining: {kinds}"}
        content = {"type": "NamespaceContentRemaining", "status": "True", **words}
        finalizers = {"type": "NamespaceFinalizersRemaining", "status": "False", **_FREE}
        if held:
            message = f"Some content in the namespace has finalizers remaining: {holders}"
            finalizers |= {"status": "True", "reason": "SomeFinalizersRemain", "message": message}
        for told in (content, finalizers):
            conditions = with_condition(conditions, told, self.work.now)
        found = self.api.find(NAMESPACE, namespace["metadata"]["name"])
        if found is not None:
            self.work.set_status(NAMESPACE, found, {**status, "conditions": conditions})

    def _finish(self, namespace: Obj) -> None:
        obj = copied(namespace)
        obj["spec"] = {}
        self.api.update(NAMESPACE, obj, subresource="finalize", how=MANAGER)
