"""Objects of a kustomization, with the names that they had before: patches and references may use any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from talosmith.kustomize.builtin_kinds import is_cluster_scoped
from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.objects import MAX_OBJECTS, Object


class ObjectId(NamedTuple):
    """Two objects with the same one are the same object to Kubernetes."""

    group: str
    version: str
    kind: str
    name: str
    namespace: str  # `default` if there is none; empty for cluster-scoped kinds

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    def has_type(self, group: str = "", version: str = "", kind: str = "") -> bool:
        """An empty part stands for any."""
        return (not group or group == self.group) and version in ("", self.version) and kind in ("", self.kind)


class Resource:
    """One object and what happened to its name."""

    def __init__(self, content: Object, *, needs_hash: bool = False) -> None:
        self.content = content
        self.previous: list[ObjectId] = []
        self.prefixes: list[str] = []
        self.suffixes: list[str] = []
        self.needs_hash = needs_hash

    @property
    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = self.content["metadata"]
        return metadata

    @property
    def kind(self) -> str:
        return str(self.content["kind"])

    @property
    def name(self) -> str:
        return str(self.metadata["name"])

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace") or "")

    @property
    def subjects(self) -> list[dict[str, Any]]:
        """Of a RoleBinding or ClusterRoleBinding."""
        found = self.content.get("subjects")
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    @property
    def is_cluster_scoped(self) -> bool:
        return is_cluster_scoped(str(self.content.get("apiVersion") or ""), self.kind)

    @property
    def id(self) -> ObjectId:
        group, _, version = str(self.content.get("apiVersion") or "").rpartition("/")
        namespace = "" if self.is_cluster_scoped else self.namespace or "default"
        return ObjectId(group, version, self.kind, self.name, namespace)

    @property
    def original(self) -> ObjectId:
        return self.previous[0] if self.previous else self.id

    def remember(self) -> None:
        """Keep the present name, before it changes."""
        self.previous.append(self.id)

    def take_over(self, old: Resource) -> None:
        """Stand for another object, which this one replaces: its name, and labels and annotations under our own."""
        for key in ("labels", "annotations"):
            if merged := {**as_map(old.metadata.get(key)), **as_map(self.metadata.get(key))}:
                self.metadata[key] = merged
        self.metadata["name"] = old.name
        self.metadata.pop("namespace", None)
        if old.namespace:
            self.metadata["namespace"] = old.namespace
        self.previous, self.prefixes, self.suffixes = old.previous, old.prefixes, old.suffixes
        self.needs_hash = self.needs_hash and old.needs_hash


def as_map(value: Any) -> dict[str, Any]:
    """Empty for what should be a map and is not, which the API server refuses."""
    return value if isinstance(value, dict) else {}


class Resources:
    """The objects of a kustomization in their order; no two with the same id."""

    def __init__(self) -> None:
        self._all: list[Resource] = []
        self._ids: set[ObjectId] = set()

    def __iter__(self) -> Iterator[Resource]:
        return iter(list(self._all))

    def append(self, one: Resource) -> None:
        if one.id in self._ids:
            raise ManifestError(
                f"{one.id} is there twice (may not add resource with an already registered id)",
                hint="remove one of them, or make it a patch",
            )
        if len(self._all) >= MAX_OBJECTS:
            raise ManifestError(f"more than {MAX_OBJECTS:,} objects", hint="split the kustomization")
        self._all.append(one)
        self._ids.add(one.id)

    def extend(self, others: Iterable[Resource]) -> None:
        for one in others:
            self.append(one)

    def replace(self, old: Resource, new: Resource) -> None:
        self._all[self._all.index(old)] = new

    def remove(self, one: Resource) -> None:
        self._all.remove(one)

    def check_ids(self) -> None:
        """After names have changed."""
        self._ids = set()
        for one in self._all:
            if one.id in self._ids:
                raise ManifestError(f"{one.id} is there twice after names or namespaces were changed")
            self._ids.add(one.id)

    def known_as(self, wanted: ObjectId) -> list[Resource]:
        """With this id, now or before."""
        return self.where(lambda one: wanted == one.id or wanted in one.previous)

    def where(self, matches: Callable[[Resource], bool]) -> list[Resource]:
        return [one for one in self._all if matches(one)]
