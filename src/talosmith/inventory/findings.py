"""Findings of resolving and the rules: with the path in the inventory, not yet with the line."""

from __future__ import annotations

from dataclasses import dataclass

from talosmith.errors import Severity
from talosmith.inventory.parse import Path


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    path: Path
    what: str
    why: str = ""
    fix: str = ""


def error(path: Path, what: str, why: str = "", fix: str = "") -> Finding:
    return Finding("error", path, what, why, fix)


def warning(path: Path, what: str, why: str = "", fix: str = "") -> Finding:
    return Finding("warning", path, what, why, fix)


def note(path: Path, what: str, why: str = "", fix: str = "") -> Finding:
    return Finding("note", path, what, why, fix)
