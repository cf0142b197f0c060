"""Validation as `talosctl validate` does it: all findings at once, for metal, cloud or container, strict or not.

The checks are those of the Talos that the node runs. A check depends on nothing but the values it names. That is why
a `Validator` can remember what it found out about parts that many configs share, and look at what a node changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from talosmith.desired.config.check import cluster as check_cluster
from talosmith.desired.config.check import container as check_container
from talosmith.desired.config.check import interfaces as check_interfaces
from talosmith.desired.config.check import kubernetes as check_kubernetes
from talosmith.desired.config.check import machine as check_machine
from talosmith.desired.config.check import network as check_network
from talosmith.desired.config.check import routing as check_routing
from talosmith.desired.config.check import services as check_services
from talosmith.desired.config.check import system as check_system
from talosmith.desired.config.check import together as check_together
from talosmith.desired.config.check import volumes as check_volumes
from talosmith.desired.config.check.conflicts import conflicts
from talosmith.desired.config.check.findings import NEWEST, Finding, Mode, Together, checks_for, error
from talosmith.desired.config.schema.documents import Document, identity, label
from talosmith.desired.config.schema.since import Line

# Importing them declares the checks.
_DECLARED = (
    check_cluster, check_container, check_interfaces, check_kubernetes, check_machine, check_network, check_routing,
    check_services, check_system, check_together, check_volumes,
)  # fmt: skip

_ROLES = {
    "controlplane": "controlplane", "init": "controlplane", "worker": "worker", "join": "worker", "": "worker",
}  # fmt: skip


def validate(
    documents: Sequence[Document], mode: Mode, *, strict: bool = False, talos: Line = NEWEST
) -> list[Finding]:
    """Everything that a Talos would complain about; empty if nothing."""
    return Validator(mode, strict=strict, talos=talos).validate(documents)


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity == "error"]


class Validator:
    """Validates many configs of one mode and one Talos that share parts with each other."""

    def __init__(self, mode: Mode, *, strict: bool = False, talos: Line = NEWEST) -> None:
        self.mode = mode
        self.strict = strict
        self.talos = talos
        self._checks = checks_for(talos)
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
        by_kind: dict[str, list[Document]] = {}
        for document in documents:
            if "kind" in document:
                known = self._known.get((id(document),))
                found += self._kind(document) if known is None else known
                by_kind.setdefault(document["kind"], []).append(document)
            else:
                main = document
                found += self._main(document)
        for document in documents:
            found += conflicts(document, main, self.talos)
        together = Together(self.mode, _role(main), main, by_kind)
        for check in self._checks.together:
            found += check(together)
        return found

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
        role = _role(document)
        return [tuple([_at(document, path, self.mode, role) for path in paths]) for paths, _ in self._checks.main]

    def _run(self, number: int, values: tuple[Any, ...]) -> tuple[Finding, ...]:
        return tuple(self._checks.main[number][1](*values))

    def _kind(self, document: Document) -> tuple[Finding, ...]:
        key = identity(document)
        return tuple(
            replace(one, document=label(key), identity=key)
            for check in self._checks.kinds.get(document["kind"], ())
            for one in check(document)
        )


def _role(main: Document) -> str:
    return _ROLES.get((main.get("machine") or {}).get("type") or "", "") if main else ""


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
