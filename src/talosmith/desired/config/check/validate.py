"""Validation as `talosctl validate` does it: all findings at once, for metal, cloud or container, strict or not.

A check depends on nothing but the values it names. That is why a `Validator` can remember what it found out about
parts that many configs share, and look only at what a node changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from talosmith.desired.config.check import cluster as check_cluster
from talosmith.desired.config.check import interfaces as check_interfaces
from talosmith.desired.config.check import machine as check_machine
from talosmith.desired.config.check import network as check_network
from talosmith.desired.config.check import services as check_services
from talosmith.desired.config.check import volumes as check_volumes
from talosmith.desired.config.check.conflicts import conflicts
from talosmith.desired.config.check.findings import KIND_CHECKS, MAIN_CHECKS, Finding, Mode, error
from talosmith.desired.config.schema.documents import Document, identity, label

# Importing them declares the checks.
_DECLARED = (check_cluster, check_interfaces, check_machine, check_network, check_services, check_volumes)

_ROLES = {
    "controlplane": "controlplane", "init": "controlplane", "worker": "worker", "join": "worker", "": "worker",
}  # fmt: skip
_PATHS = [tuple(tuple(path.split(".")) for path in one.paths) for one in MAIN_CHECKS]


def validate(documents: Sequence[Document], mode: Mode, *, strict: bool = False) -> list[Finding]:
    """Everything Talos would complain about; empty if nothing."""
    return Validator(mode, strict=strict).validate(documents)


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity == "error"]


class Validator:
    """Validates many configs of one mode that share parts with each other."""

    def __init__(self, mode: Mode, *, strict: bool = False) -> None:
        self.mode = mode
        self.strict = strict
        self._known: dict[tuple[int, ...], tuple[Finding, ...]] = {}
        self._alive: list[Any] = []  # what is remembered by its identity must stay

    def remember(self, documents: Sequence[Document]) -> None:
        """Keeps what is found about the parts of these documents for configs that share them."""
        self._alive.append(documents)
        for document in documents:
            if "kind" in document:
                self._known[(id(document),)] = self._kind(document)
            elif document.get("machine") is not None:
                for number, values in enumerate(self._inputs(document)):
                    self._known[(number, *map(id, values))] = self._run(number, values)

    def validate(self, documents: Sequence[Document]) -> list[Finding]:
        found: list[Finding] = []
        main: Document = {}
        for document in documents:
            if "kind" in document:
                known = self._known.get((id(document),))
                found += self._kind(document) if known is None else known
            else:
                main = document
                found += self._main(document)
        return found + [finding for document in documents for finding in conflicts(document, main)]

    def _main(self, document: Document) -> list[Finding]:
        found: list[Finding] = []
        if document.get("machine") is None:
            found.append(error("machine", "is missing"))
        else:
            for number, values in enumerate(self._inputs(document)):
                known = self._known.get((number, *map(id, values)))
                found += self._run(number, values) if known is None else known
        return [replace(one, severity="error") for one in found] if self.strict else found

    def _inputs(self, document: Document) -> list[tuple[Any, ...]]:
        role = _ROLES.get(document["machine"].get("type") or "", "")
        return [tuple([_at(document, path, self.mode, role) for path in paths]) for paths in _PATHS]

    def _run(self, number: int, values: tuple[Any, ...]) -> tuple[Finding, ...]:
        return tuple(MAIN_CHECKS[number].run(*values))

    def _kind(self, document: Document) -> tuple[Finding, ...]:
        check = KIND_CHECKS.get(document["kind"])
        name = label(identity(document))
        return tuple(replace(one, document=name) for one in check(document)) if check else ()


def _at(document: Mapping[str, Any], path: tuple[str, ...], mode: str, role: str) -> Any:
    if path[0] == "@mode":
        return mode
    if path[0] == "@role":
        return role
    value: Any = document
    for key in path:
        if value is None:
            return None
        value = value.get(key)
    return value
