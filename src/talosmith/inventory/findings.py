"""Findings of resolving and the rules: with the path in the inventory, not yet with the line."""

from __future__ import annotations

from dataclasses import dataclass, replace

from talosmith.errors import Severity
from talosmith.inventory.parse import Path
from talosmith.model.allowed import Allowed


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    path: Path
    what: str
    why: str = ""
    fix: str = ""
    allow: Allowed | None = None  # the value of `--allow` that makes a warning of this error

    def as_warning(self) -> Finding:
        return replace(self, severity="warning", fix="")


def error(path: Path, what: str, why: str = "", fix: str = "", allow: Allowed | None = None) -> Finding:
    return Finding("error", path, what, why, fix, allow)


def warning(path: Path, what: str, why: str = "", fix: str = "") -> Finding:
    return Finding("warning", path, what, why, fix)


def note(path: Path, what: str, why: str = "", fix: str = "") -> Finding:
    return Finding("note", path, what, why, fix)
