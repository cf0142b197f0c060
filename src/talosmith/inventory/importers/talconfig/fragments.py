"""What the inventory has no key for, as documents that become patches: for all nodes, for a role, or for one node.

The same for all nodes of a role is said once for the role. What only undoes a default of talosmith goes into files of
its own, so that they can be deleted when the default is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from talosmith.inventory.importers.placing import Change, Refuse, Scope, touched_by
from talosmith.inventory.importers.remarks import Remarks
from talosmith.inventory.importers.talconfig.source import TalNode
from talosmith.inventory.importers.yaml_text import dump_all
from talosmith.inventory.parse import Path
from talosmith.model.cluster import Role

DELETE = {"$patch": "delete"}
FILLED = "\ue000{"  # stands for `${` in a document, where the inventory is to fill it
_ROLES: tuple[Role, Role] = ("controlplane", "worker")

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fragment:
    """Documents about one thing."""

    documents: Sequence[Document] = field(repr=False)
    path: Path  # in the talconfig
    why: str
    undoes: bool = False  # a default of talosmith


class Fragments:
    def __init__(self, nodes: Sequence[TalNode], remarks: Remarks, refuse: Refuse) -> None:
        self._nodes = nodes
        self._remarks = remarks
        self._refuse = refuse
        self._found: dict[tuple[Scope, frozenset[str]], list[Fragment]] = {}

    def add(self, scope: Scope, fragment: Fragment) -> None:
        """Something that is said of the whole cluster, or of a role."""
        self._add(scope, [node for node in self._nodes if scope in ("global", node.role)], fragment)

    def add_each(self, made: Mapping[str, Fragment | None]) -> None:
        """One thing, said of each node; where a role is of one mind, it is said of the role."""
        for role in _ROLES:
            nodes = [node for node in self._nodes if node.role == role]
            given = [fragment for node in nodes if (fragment := made.get(node.name))]
            shared = len(nodes) > 1 or any(fragment.path[0] != "nodes" for fragment in given)
            if given and shared and len(given) == len(nodes) and _same(given):
                self._add(role, nodes, given[0])
                continue
            for node in nodes:
                if fragment := made.get(node.name):
                    self._add("nodes", [node], fragment)

    def changes(self) -> list[Change]:
        """The widest first, and what undoes defaults before what is said; a node has one file for both."""
        made: list[Change] = []
        order: list[Scope] = ["global", *_ROLES, "nodes"]
        for (scope, names), fragments in sorted(self._found.items(), key=lambda one: order.index(one[0][0])):
            undoing = [one for one in fragments if one.undoes]
            saying = [one for one in fragments if not one.undoes]
            groups = [[*undoing, *saying]] if scope == "nodes" else [undoing, saying]
            made += [_change(group, scope, names) for group in groups if group]
        return made

    def _add(self, scope: Scope, nodes: Iterable[TalNode], fragment: Fragment) -> None:
        refused = self._refuse(_escaped(dump_all(fragment.documents)), "")
        if refused:
            self._remarks.left_out(fragment.path, "this does not make a config that Talos takes", refused)
        else:
            names = frozenset(node.name for node in nodes)
            self._found.setdefault((scope, names), []).append(fragment)


def _same(fragments: Sequence[Fragment]) -> bool:
    return all(one.documents == fragments[0].documents for one in fragments)


def _change(fragments: Sequence[Fragment], scope: Scope, names: frozenset[str]) -> Change:
    undoes = all(fragment.undoes for fragment in fragments)
    documents = _combined([document for fragment in fragments for document in fragment.documents])
    head = (
        "# As talhelper has it. Delete this file to take talosmith's defaults."
        if undoes
        else "# What the talconfig says and the inventory has no key for."
    )
    lines = [head, *dict.fromkeys(f"#   {fragment.why}" for fragment in fragments)]
    text = "\n".join(lines) + "\n" + _escaped(dump_all(documents))
    return Change("as-talhelper" if undoes else "talconfig", text, scope, names, touched_by(documents))


def _combined(documents: Iterable[Document]) -> list[Document]:
    """One main document of all, after one with what is deleted first; others as they are, one of each name."""
    deleted: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    others: dict[tuple[str, str], dict[str, Any]] = {}
    for document in documents:
        if "kind" in document:
            key = (document["kind"], document.get("name") or "")
            others[key] = _merged(others.get(key, {}), document)
        elif _only_deletes(document):
            deleted = _merged(deleted, document)
        else:
            merged = _merged(merged, document)
    return [document for document in (deleted, merged, *others.values()) if document]


def _only_deletes(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return value == DELETE or (bool(value) and all(_only_deletes(inner) for inner in value.values()))


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(one)
    for key, value in other.items():
        both = isinstance(made.get(key), Mapping) and isinstance(value, Mapping)
        made[key] = _merged(made[key], value) if both else value
    return made


def _escaped(text: str) -> str:
    """To an inventory `${…}` in a patch is a value of its own."""
    return text.replace("${", "$${").replace(FILLED, "${")
