"""A talconfig.yaml as talhelper reads it: variables filled in, keys checked, each node with what its group says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from talosmith.errors import InventoryError, Problem
from talosmith.files.regular import shown
from talosmith.inventory.importers.reading import Unusable, read_bytes
from talosmith.inventory.importers.remarks import Remarks
from talosmith.inventory.importers.shape import fit
from talosmith.inventory.importers.talconfig.keys import SETTINGS, TALCONFIG
from talosmith.inventory.importers.talconfig.variables import Variables, find_variables
from talosmith.inventory.importers.yaml_text import Octal
from talosmith.inventory.parse import Document, Path, Unreadable, parse
from talosmith.model.cluster import Role
from talosmith.model.versions import RECOMMENDED, Version

GROUPS: dict[Role, str] = {"controlplane": "controlPlane", "worker": "worker"}
REQUIRED = ("clusterName", "kubernetesVersion", "endpoint", "nodes")

_OLD_OCTAL = re.compile(r"0[0-7]+\b")
_GONE: Any = object()


@dataclass(frozen=True, slots=True)
class TalNode:
    """A node: what is said of it, there or in its group, and where."""

    name: str  # in the inventory
    hostname: str
    role: Role
    path: Path
    settings: Mapping[str, Any] = field(repr=False)
    places: Mapping[str, Path] = field(repr=False)

    def get(self, key: str) -> Any:
        return self.settings.get(key)

    def at(self, key: str) -> Path:
        return self.places.get(key, (*self.path, key))

    def is_from_group(self, key: str) -> bool:
        return self.at(key)[0] != "nodes"


class Discretion:
    """Decides whether a text can be taken over, by the variables in it; if not, that is told."""

    def __init__(self, remarks: Remarks, *, reveal: bool) -> None:
        self._remarks = remarks
        self._reveal = reveal
        self.revealed = False  # whether anything hidden was taken over

    def allows(self, path: Path, unknown: tuple[str, ...], hidden_in: tuple[str, ...]) -> bool:
        if unknown:
            names = ", ".join(f"${name}" if not name.startswith("$") else name for name in unknown)
            why = "neither talenv.yaml nor the environment has a value"
            self._remarks.left_out(path, f"the value of {names} is not known", why, "set it, or write the value")
        elif hidden_in and not self._reveal:
            what, why = (
                f"a value of it comes from {', '.join(hidden_in)}",
                "an inventory's files are committed in clear",
            )
            self._remarks.left_out(path, what, why, "give --reveal to have it written in clear")
        elif hidden_in:
            self.revealed = True
            what = f"a value from {', '.join(hidden_in)} is written in clear"
            self._remarks.note(path, what, "--reveal was given")
        return not unknown and (self._reveal or not hidden_in)


@dataclass(frozen=True)
class Talconfig:
    file: FilePath
    document: Document = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)
    nodes: tuple[TalNode, ...]
    version: Version
    remarks: Remarks = field(repr=False)
    variables: Variables = field(repr=False)
    discretion: Discretion = field(repr=False)

    @property
    def has_documents(self) -> bool:
        """Whether the parts of a node's network are documents of their own."""
        return self.version.line >= (1, 12)

    @property
    def folder(self) -> FilePath:
        return self.file.parent

    def of_role(self, role: Role) -> tuple[TalNode, ...]:
        return tuple(node for node in self.nodes if node.role == role)


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
    discretion = Discretion(remarks, reveal=reveal)
    filled = _Filler(document, variables, discretion).fill(document.data, ())
    data = fit(filled, dict(TALCONFIG), remarks)
    missing = [key for key in REQUIRED if not data.get(key)]
    if missing:
        remarked = [remark.problem for remark in remarks.all()]
        lacks = [Problem("error", f"`{key}` is missing", file=document.file) for key in missing]
        raise InventoryError([*lacks, *remarked])
    indices = [index for index, node in enumerate(filled["nodes"]) if isinstance(node, dict)]
    nodes = tuple(_node(data, own, index, remarks) for index, own in zip(indices, data["nodes"], strict=True))
    version = _talos_version(data, document, remarks)
    return Talconfig(file, document, data, nodes, version, remarks, variables, discretion)


def _talos_version(data: Mapping[str, Any], document: Document, remarks: Remarks) -> Version:
    text = data.get("talosVersion")
    if not text:
        text = RECOMMENDED.latest
        why = "talhelper takes the newest one that it knows, and which that is depends on its own version"
        remarks.left_out(("talosVersion",), "the version of Talos is not given", why, "write it into the talconfig")
    try:
        return Version.parse(text)
    except ValueError:
        what = f"`talosVersion`: `{text}` is not a full version"
        fix, line = "write all three parts, for example v1.14.1", document.locate(("talosVersion",))[0]
        raise InventoryError([Problem("error", what, fix=fix, file=document.file, line=line)]) from None


def _node(data: Mapping[str, Any], own: Mapping[str, Any], index: int, remarks: Remarks) -> TalNode:
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

    def __init__(self, document: Document, variables: Variables, discretion: Discretion) -> None:
        self._document = document
        self._variables = variables
        self._discretion = discretion

    def fill(self, value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            made = {self._text(str(key), path): self.fill(inner, (*path, key)) for key, inner in value.items()}
            return {key: inner for key, inner in made.items() if key is not _GONE and inner is not _GONE}
        if isinstance(value, list):
            # An item that cannot be filled stays as nothing, so that the places of the others remain right.
            items = [self.fill(item, (*path, index)) for index, item in enumerate(value)]
            return [None if item is _GONE else item for item in items]
        if isinstance(value, str):
            return self._text(value, path)
        if path[-1:] == ("permissions",) and isinstance(value, int):
            return self._mode(value, path)
        return value

    def _text(self, text: str, path: Path) -> Any:
        if "$" not in text:
            return text
        filled = self._variables.fill(text)
        usable = self._discretion.allows(path, filled.unknown, filled.hidden_in)
        return filled.text if usable else _GONE

    def _mode(self, number: int, path: Path) -> Octal:
        """`0644` is octal to talhelper and decimal to YAML 1.2; only the text tells which was written."""
        line, column = self._document.locate(path)
        written = self._document.lines[line - 1][column - 1 :] if line <= len(self._document.lines) else ""
        found = _OLD_OCTAL.match(written)
        return Octal(int(found[0], 8) if found else number)
