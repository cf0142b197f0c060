"""Which kinds of objects an API server has: those it was built with, and those that definitions add at run time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from talosmith_lab.kube.builtin_kinds import PART_VERBS, PARTS, TABLE, VERBS

Obj = dict[str, Any]

_NOTHING: Mapping[str, Subkind] = MappingProxyType({})
# Under other names in etcd than in the API, by plural and group.
_PLACES = {
    ("nodes", ""): "minions",
    ("services", ""): "services/specs",
    ("endpoints", ""): "services/endpoints",
    ("ingresses", "networking.k8s.io"): "ingress",
    ("customresourcedefinitions", "apiextensions.k8s.io"): "apiextensions.k8s.io/customresourcedefinitions",
    ("apiservices", "apiregistration.k8s.io"): "apiregistration.k8s.io/apiservices",
}


@dataclass(frozen=True, slots=True)
class Subkind:
    """What is read and written at a subresource."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind in one version."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str = field(default="", compare=False)
    short_names: tuple[str, ...] = field(default=(), compare=False)
    namespaced: bool = field(default=True, compare=False)
    categories: tuple[str, ...] = field(default=(), compare=False)
    subresources: Mapping[str, Subkind] = field(default_factory=lambda: _NOTHING, compare=False)
    verbs: tuple[str, ...] = field(default=(), compare=False)
    stored_as: str = field(default="", compare=False)  # the apiVersion of what etcd holds; empty: not stored
    custom: bool = field(default=False, compare=False)  # from a CustomResourceDefinition
    list_kind: str = field(default="", compare=False)

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def resource(self) -> str:
        """As errors name it: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def root(self) -> str:
        """Where etcd has its objects."""
        place = _PLACES.get((self.plural, self.group)) or (
            f"{self.group}/{self.plural}" if self.custom else self.plural
        )
        return f"/registry/{place}/"

    @cached_property
    def listed_as(self) -> str:
        return self.list_kind or f"{self.kind}List"

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    def key(self, namespace: str, name: str) -> str:
        return f"{self.root}{namespace}/{name}" if self.namespaced else f"{self.root}{name}"


@lru_cache(maxsize=1)
def builtin() -> tuple[Kind, ...]:
    return tuple(_read())


def _read() -> Iterator[Kind]:
    api_version = ""
    for line in TABLE.strip().splitlines():
        if not line.startswith(" "):
            api_version = line
            continue
        words = [word if word != "-" else "" for word in line.split()]
        kind, plural, short, scope, categories, parts, verbs = [*words, "", "", ""][:7]
        group, _, version = api_version.rpartition("/")
        yield Kind(
            group=group,
            version=version,
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            short_names=_split(short),
            namespaced=scope == "*",
            categories=_split(categories),
            subresources=MappingProxyType({name: _part(name, api_version, kind) for name in _split(parts)}),
            verbs=_split(verbs or VERBS),
            stored_as="" if verbs == "create" else api_version,
        )


def _part(name: str, api_version: str, kind: str) -> Subkind:
    other, other_kind, verbs = PARTS.get(name, ("", "", PART_VERBS))
    group, _, version = (other or api_version).rpartition("/")
    return Subkind(name, group, version, other_kind or kind, _split(verbs))


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


class Kinds:
    """The kinds that one cluster serves at the moment."""

    def __init__(self) -> None:
        self._custom: dict[str, tuple[Kind, ...]] = {}  # by the name of the definition
        self._paths: dict[tuple[str, str, str], Kind] = {}
        self._names: dict[tuple[str, str], Kind] = {}
        self.changes = 0
        self._index()

    def _index(self) -> None:
        self._paths = {(one.group, one.version, one.plural): one for one in self}
        self._names = {(one.api_version, one.kind): one for one in self}
        self.changes += 1

    def __iter__(self) -> Iterator[Kind]:
        yield from builtin()
        for kinds in self._custom.values():
            yield from kinds

    def at(self, group: str, version: str, plural: str) -> Kind | None:
        return self._paths.get((group, version, plural))

    def named(self, api_version: str, kind: str) -> Kind | None:
        return self._names.get((api_version, kind))

    def need(self, api_version: str, kind: str) -> Kind:
        """For kinds that are always there."""
        return self._names[api_version, kind]

    def of_definition(self, name: str) -> tuple[Kind, ...]:
        return self._custom.get(name, ())

    def serve(self, definition: str, kinds: Iterable[Kind]) -> None:
        """Have these from a definition, and no others; none at all once it is gone."""
        found = tuple(kinds)
        if self._custom.get(definition, ()) == found:
            self._custom.update({definition: found} if found else {})
            self._index()
            return
        if found:
            self._custom[definition] = found
        else:
            self._custom.pop(definition, None)
        self._index()


def find(api_version: str, kind: str) -> Kind:
    """A kind that every API server has."""
    return _by_name()[api_version, kind]


@lru_cache(maxsize=1)
def _by_name() -> Mapping[tuple[str, str], Kind]:
    return {(one.api_version, one.kind): one for one in builtin()}
