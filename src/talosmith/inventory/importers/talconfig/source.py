"""A talconfig.yaml as talhelper reads it: variables filled in, keys checked, each node with what its group says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from talosmith.errors import InventoryError, Problem
from talosmith.inventory.importers.reading import Unusable, read_bytes
from talosmith.inventory.importers.remarks import Remarks
from talosmith.inventory.importers.shape import fit
from talosmith.inventory.importers.talconfig.keys import SETTINGS, TALCONFIG
from talosmith.inventory.importers.talconfig.variables import Variables, find_variables
from talosmith.inventory.importers.yaml_text import Octal
from talosmith.inventory.parse import Document, Path, Unreadable, parse, resolve_plain
from talosmith.inventory.sources import shown
from talosmith.model.cluster import Role
from talosmith.model.versions import RECOMMENDED, Version


GROUPS: dict[Role, str] = {"controlplane": "controlPlane", "worker": "worker"}
REQUIRED = ("clusterName", "kubernetesVersion", "endpoint", "nodes")
REVEAL = "give --reveal to have it written in clear"

_OLD_OCTAL = re.compile(r"0[0-7]+\b")
_GONE: Any = object()


@dataclass(frozen=True, slots=True)
class TalNode:
    """A node: what is said of it, there or in its group, and where."""

    name: str  # in the inventory
    hostname: str
    role: Role
    path: Path
    settings: Mapping[str, Any]
    places: Mapping[str, Path] = field(repr=False)

    def get(self, key: str) -> Any:
        return self.settings.get(key)

    def at(self, key: str) -> Path:
        return self.places.get(key, (*self.path, key))

    def is_from_group(self, key: str) -> bool:
        return self.at(key)[0] != "nodes"


@dataclass(frozen=True)
class Talconfig:
    folder: FilePath
    document: Document = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)
    nodes: tuple[TalNode, ...]
    version: Version
    remarks: Remarks = field(repr=False)
    variables: Variables = field(repr=False)
    reveal: bool
    revealed: set[str] = field(default_factory=set)  # hidden places that values were taken from

    @property
    def has_documents(self) -> bool:
        """Whether the parts of a node's network are documents of their own."""
        return self.version.line >= (1, 12)

    def of_role(self, role: Role) -> tuple[TalNode, ...]:
        return tuple(node for node in self.nodes if node.role == role)

    def may_use(self, path: Path, unknown: tuple[str, ...], hidden_in: tuple[str, ...]) -> bool:
        """Whether a text can be taken over, by its variables; if not, that is told."""
        return _may_use(self.remarks, path, unknown, hidden_in, self.reveal, self.revealed)


def read_talconfig(file: FilePath, environment: Mapping[str, str], *, reveal: bool) -> Talconfig:
    """Raises `InventoryError` if the file cannot be read or lacks what every cluster needs."""
    try:
        document = parse(read_bytes(file), shown(file))
    except Unreadable as unreadable:
        raise InventoryError(unreadable.problems) from None
    except Unusable as unusable:
        raise InventoryError([Problem("error", f"the file {unusable}", file=shown(file))]) from None
    if not isinstance(document.data, dict):
        what = "the file is not a mapping of keys to values"
        raise InventoryError([Problem("error", what, file=document.file, line=1)])
    remarks = Remarks(document)
    variables, wrong = find_variables(file.parent, environment)
    for name, what in wrong:
        remarks.left_out((), f"{name} {what}", "its variables are not known", at=(name, 0))
    revealed: set[str] = set()
    filled = _Filler(document, remarks, variables, revealed, reveal=reveal).fill(document.data, ())
    data = fit(filled, dict(TALCONFIG), remarks)
    missing = [key for key in REQUIRED if not data.get(key)]
    if missing:
        told = [remark.problem for remark in remarks.all()]
        lacks = [Problem("error", f"`{key}` is missing", file=document.file) for key in missing]
        raise InventoryError([*lacks, *told])
    nodes = tuple(_node(data, index, remarks) for index in range(len(data["nodes"])))
    version = _talos_version(data, remarks)
    return Talconfig(file.parent, document, data, nodes, version, remarks, variables, reveal, revealed)


def _talos_version(data: Mapping[str, Any], remarks: Remarks) -> Version:
    text = data.get("talosVersion")
    if not text:
        text = RECOMMENDED.latest
        why = "talhelper takes the newest one that it knows, and which that is depends on its own version"
        remarks.left_out(("talosVersion",), "the version of Talos is not given", why, "write it into the talconfig")
    try:
        return Version.parse(text)
    except ValueError:
        what = f"`talosVersion`: `{text}` is not a full version"
        raise InventoryError([Problem("error", what, fix="write all three parts, for example v1.13.9")]) from None


def _node(data: Mapping[str, Any], index: int, remarks: Remarks) -> TalNode:
    own: dict[str, Any] = data["nodes"][index]
    role: Role = "controlplane" if own.get("controlPlane") else "worker"
    group: dict[str, Any] = data.get(GROUPS[role]) or {}
    path: Path = ("nodes", index)
    settings, places = dict(own), dict[str, Path]()
    for key in SETTINGS.keys() & group.keys():
        if not _says(own.get(key), key):
            settings[key], places[key] = group[key], (GROUPS[role], key)
    hostname = own.get("hostname") or ""
    if not hostname:
        remarks.left_out(path, "the node has no hostname")
    return TalNode(_name(hostname) or f"node-{index + 1}", hostname, role, path, settings, places)


def _says(value: Any, key: str) -> bool:
    """Whether a node's own value stands before its group's: it does unless it is what Go takes for nothing."""
    if key == "machineSpec" and isinstance(value, dict):
        return any(value.values())
    return isinstance(value, dict | list) or bool(value)


def _name(hostname: str) -> str:
    """The label that a host name begins with; names in inventories have no dots and no capitals."""
    return hostname.partition(".")[0].lower()


class _Filler:
    """Fills the variables in all keys and values; what cannot be filled is told and left out."""

    def __init__(
        self, document: Document, remarks: Remarks, variables: Variables, revealed: set[str], *, reveal: bool
    ) -> None:
        self._document = document
        self._remarks = remarks
        self._variables = variables
        self._revealed = revealed
        self._reveal = reveal

    def fill(self, value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            made = {self._text(key, path): self.fill(inner, (*path, key)) for key, inner in value.items()}
            return {key: inner for key, inner in made.items() if key is not _GONE and inner is not _GONE}
        if isinstance(value, list):
            # An item that cannot be filled stays as nothing, so that the places of the others remain right.
            items = [self.fill(item, (*path, index)) for index, item in enumerate(value)]
            return [None if item is _GONE else item for item in items]
        if isinstance(value, str) and "$" in value:
            text = self._text(value, path)
            return text if text is _GONE or text == value else resolve_plain(text)
        if path[-1:] == ("permissions",) and isinstance(value, int):
            return self._mode(value, path)
        return value

    def _text(self, text: str, path: Path) -> Any:
        filled = self._variables.fill(text)
        usable = _may_use(self._remarks, path, filled.unknown, filled.hidden_in, self._reveal, self._revealed)
        return filled.text if usable else _GONE

    def _mode(self, number: int, path: Path) -> Octal:
        """`0644` is octal to talhelper and decimal to YAML 1.2; only the text tells which was written."""
        line, column = self._document.locate(path)
        written = self._document.lines[line - 1][column - 1 :] if line <= len(self._document.lines) else ""
        found = _OLD_OCTAL.match(written)
        return Octal(int(found[0], 8) if found else number)


def _may_use(
    remarks: Remarks,
    path: Path,
    unknown: tuple[str, ...],
    hidden_in: tuple[str, ...],
    reveal: bool,
    revealed: set[str],
) -> bool:
    if unknown:
        names = ", ".join(f"${name}" if not name.startswith("$") else name for name in unknown)
        why = "neither talenv.yaml nor the environment has a value"
        remarks.left_out(path, f"the value of {names} is not known", why, "set it, or write the value")
        return False
    if hidden_in and not reveal:
        why = "an inventory's files are committed in clear"
        remarks.left_out(path, f"a value of it comes from {', '.join(hidden_in)}", why, REVEAL)
        return False
    if hidden_in:
        revealed.update(hidden_in)
        remarks.note(path, f"a value from {', '.join(hidden_in)} is written in clear", "--reveal was given")
    return True
