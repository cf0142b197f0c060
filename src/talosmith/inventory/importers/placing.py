"""Puts patches where an inventory keeps them, in an order that comes to the same as the other tool's.

An inventory applies patches for all nodes first, then those of the role, then those of the node. Another tool may
have another order. A patch stays in its place unless an earlier one that touches the same part of a config has a
narrower place: then it must follow it there, and its file is named at the roles or nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from talosmith.model.cluster import Role

Touched = frozenset[tuple[str, ...]]
Scope = Literal["global", "controlplane", "worker", "nodes"]
Refuse = Callable[[str, str], str]
"""What Talos would refuse in a patch, from its text and source; empty if nothing."""

ROLE_KEYS: Mapping[Role, str] = {"controlplane": "controlplane", "worker": "workers"}
_GLOBAL, _ROLE, _NODE = range(3)
_WIDTH: Mapping[Scope, int] = {"global": _GLOBAL, "controlplane": _ROLE, "worker": _ROLE, "nodes": _NODE}


@dataclass(frozen=True, slots=True)
class Change:
    """A patch, what it is for, and the nodes that are that now. Changes stand in the other tool's order."""

    name: str  # what its file is called
    text: str = field(repr=False)
    scope: Scope
    nodes: frozenset[str]
    touched: Touched


@dataclass(frozen=True, slots=True)
class Placed:
    """Files by their names, and which of them roles and nodes must name themselves."""

    files: Mapping[str, str]
    role_patches: Mapping[Role, Sequence[str]]
    node_patches: Mapping[str, Sequence[str]]


def place(changes: Sequence[Change], roles: Mapping[str, Role]) -> Placed:
    """`roles`: the role of each node."""
    return _Placing(roles).all(changes)


class _Placing:
    def __init__(self, roles: Mapping[str, Role]) -> None:
        self._roles = roles
        self._files: dict[str, str] = {}
        self._role_patches: dict[Role, list[str]] = {}
        self._node_patches: dict[str, list[str]] = {}
        self._done: list[tuple[Change, int, bool]] = []  # with its level, and whether it is named somewhere

    def all(self, changes: Sequence[Change]) -> Placed:
        for change in changes:
            before = self._before(change)
            level = max([_WIDTH[change.scope], *(level for _, level, _ in before)])
            follows_named = any(named for _, at, named in before if at == level)
            self._done.append((change, level, self._put(change, level, follows_named=follows_named)))
        return Placed(self._files, self._role_patches, self._node_patches)

    def _before(self, change: Change) -> list[tuple[Change, int, bool]]:
        """Earlier ones that this one must come after."""
        return [one for one in self._done if one[0].nodes & change.nodes and overlap(one[0].touched, change.touched)]

    def _put(self, change: Change, level: int, *, follows_named: bool) -> bool:
        """Writes the file; says whether it had to be named."""
        at_home = level == _WIDTH[change.scope] and not follows_named
        if level == _NODE:
            if len(change.nodes) == 1:
                return self._put_at_node(change, next(iter(change.nodes)))
            self._name_at_nodes(change, self._file("shared", change, at_home=at_home))
        elif at_home:
            self._file(change.scope, change)
            return False
        else:
            path = self._file("shared", change, at_home=at_home)
            for role in ROLE_KEYS:
                if any(self._roles[name] == role for name in change.nodes):
                    self._role_patches.setdefault(role, []).append(path)
        return True

    def _put_at_node(self, change: Change, name: str) -> bool:
        """The first one is the node's file; further ones are named, since a node has one file."""
        path = f"patches/nodes/{name}.yaml"
        if path not in self._files and not self._node_patches.get(name):
            self._files[path] = change.text
            return False
        self._name_at_nodes(change, self._file(f"nodes/{name}", change))
        return True

    def _name_at_nodes(self, change: Change, path: str) -> None:
        for name in sorted(change.nodes):
            self._node_patches.setdefault(name, []).append(path)

    def _file(self, folder: str, change: Change, *, at_home: bool = True) -> str:
        """Files of a folder are applied by name, so they are numbered."""
        start = f"patches/{folder}/"
        number = sum(path.startswith(start) for path in self._files)
        path = f"{start}{number:02d}-{change.name}.yaml"
        moved = "# Named in nodes.yaml, because it comes after patches there that touch the same.\n"
        self._files[path] = change.text if at_home else moved + change.text
        return path


def touched_by(documents: Iterable[Any]) -> Touched:
    """Which parts of a config the documents of a patch say something about."""
    found: set[tuple[str, ...]] = set()
    for document in documents:
        if isinstance(document, list):
            for operation in document:
                if isinstance(operation, dict):
                    found |= {_pointer(operation[key]) for key in ("path", "from") if operation.get(key) is not None}
        elif isinstance(document, dict):
            head = (f"{document.get('kind') or ''}/{document.get('name') or ''}",)
            fields = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "name")}
            found |= set(_leaves(fields, head))
    return frozenset(found)


def overlap(one: Touched, other: Touched) -> bool:
    return any(left[: len(right)] == right[: len(left)] for left in one for right in other)


def name_for(touched: Touched) -> str:
    """A file's name for a patch that has none: what it is about."""
    head, *path = min(touched)
    return slug(head if head != "/" else "-".join(path[:2])) or "patch"


def slug(text: str) -> str:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", text)
    return re.sub(r"[^a-z0-9]+", "-", spaced.lower()).strip("-")[:40].strip("-")


def _leaves(value: Any, path: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if not isinstance(value, dict) or not value or "$patch" in value:
        yield path
        return
    for key, inner in value.items():
        yield from _leaves(inner, (*path, str(key)))


def _pointer(text: Any) -> tuple[str, ...]:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in str(text).split("/")[1:]]
    # What stands in a list is not told apart: to change one item may move the others.
    end = next((at for at, part in enumerate(parts) if part == "-" or part.isdigit()), len(parts))
    return ("/", *parts[:end])
