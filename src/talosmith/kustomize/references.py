"""Updates the names by which objects refer to each other, after prefixes, suffixes and hashes changed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.fields import FieldSpec, change
from talosmith.kustomize.reference_fields import BY_REFERRER, Target
from talosmith.kustomize.resources import Resource, Resources


def update_references(resources: Resources) -> None:
    """Set the fields that name other objects of the kustomization to their present names."""
    renamed: dict[str, list[Resource]] = defaultdict(list)
    for one in resources:
        for name in {known.name for known in one.previous}:
            renamed[name].append(one)
    if renamed:
        for one in resources:
            for spec, target in BY_REFERRER.get(one.original.kind, ()):
                if one.original.has_type(spec.group, spec.version, spec.kind):
                    change(one, FieldSpec(spec.path), _Reference(one, spec, target, renamed).updated)


class _Reference:
    """One field of one object that may name others."""

    def __init__(
        self, referrer: Resource, spec: FieldSpec, target: Target, renamed: dict[str, list[Resource]]
    ) -> None:
        self._referrer = referrer
        self._spec = spec
        self._target = target
        self._renamed = renamed

    def updated(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.updated(one) for one in value]
        if isinstance(value, dict):
            return self._updated_map(value)
        if not isinstance(value, str):
            return value
        found = self._find(value, self._candidates(value), lambda one: one.name)
        return value if found is None else found.name

    def _updated_map(self, value: dict[str, Any]) -> dict[str, Any]:
        """A map with `name` and perhaps `namespace`, which narrows the search."""
        name, namespace = value.get("name"), value.get("namespace")
        if not isinstance(name, str):
            raise TypeError("expected a map with a name")
        candidates = self._candidates(name)
        if "namespace" in value:
            before = [one for one in candidates if one.original.namespace == namespace]
            candidates = before or [one for one in candidates if one.id.namespace == namespace]
        found = self._find(name, candidates, lambda one: (one.name, one.namespace))
        if found is None:
            return value
        return {**value, "name": found.name, **({"namespace": found.namespace} if found.namespace else {})}

    def _candidates(self, name: str) -> list[Resource]:
        """Objects that had this name and that the referrer can refer to."""
        anywhere, own, more = self._referrer.is_cluster_scoped, self._referrer.id.namespace, set[str]()
        if self._referrer.kind == "RoleBinding":
            more = {
                str(one.get("namespace") or "")
                for one in self._referrer.subjects
                if one.get("kind") == "ServiceAccount" and "namespace" in one
            }
        return [
            one
            for one in self._renamed.get(name, ())
            if anywhere or one.is_cluster_scoped or one.id.namespace == own or one.namespace in more
        ]

    def _find(
        self, name: str, candidates: Iterable[Resource], identity: Callable[[Resource], Any]
    ) -> Resource | None:
        found = [one for one in candidates if self._is_target(one)]
        if len(found) > 1:
            found = [one for one in found if _same_names(self._referrer, one, or_none=True)]
        if len(found) > 1:
            found = [one for one in found if _same_names(self._referrer, one, or_none=False)]
        if len({identity(one) for one in found}) > 1:
            ids = ", ".join(str(one.id) for one in found)
            raise ManifestError(
                f"{self._referrer.id}: {self._spec.path}: {name} may be any of {ids} (found multiple possible "
                "referrals)"
            )
        return found[0] if found else None

    def _is_target(self, one: Resource) -> bool:
        target, referrer = self._target, self._referrer
        if not any(known.has_type(target.group, target.version, target.kind) for known in one.previous):
            return False
        role = referrer.content.get("roleRef") if self._spec.path == "roleRef/name" else None
        group, kind = (role.get("apiGroup"), role.get("kind")) if isinstance(role, dict) else (None, None)
        if group and kind and not any(known.has_type(group, kind=kind) for known in one.previous):
            return False
        if referrer.is_cluster_scoped or one.is_cluster_scoped or one.kind == "ServiceAccount":
            return True
        return one.id.namespace == referrer.id.namespace


def _same_names(one: Resource, other: Resource, *, or_none: bool) -> bool:
    """Whether the same kustomizations renamed both, seen from the outermost."""
    for mine, theirs in ((one.prefixes, other.prefixes), (one.suffixes, other.suffixes)):
        shared = min(len(mine), len(theirs))
        if not shared and (or_none or len(mine) == len(theirs)):
            continue
        if not shared or mine[-shared:] != theirs[-shared:]:
            return False
    return True
