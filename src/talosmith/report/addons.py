"""Add-ons as text, and as data for `-o json` and `-o yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from talosmith.addons import NAMES, addon
from talosmith.foreign_text import escaped_line
from talosmith.observed.addon_status import AddonStatus
from talosmith.observed.world import ObjectChange
from talosmith.report.style import Look, Style
from talosmith.report.table import table
from talosmith.report.text import one_line
from talosmith.yaml import goyaml

_LOOKS: Mapping[str, Look] = {
    "in-sync": "green", "managed": "green", "built-in": "green", "not-ready": "red", "invalid": "red",
}  # fmt: skip
_WORDS = {"created": "+", "changed": "~", "pruned": "-", "kept": "=", "refused": "!"}


def list_data(statuses: Sequence[AddonStatus]) -> dict[str, Any]:
    return {"addons": [asdict(one) for one in statuses]}


def list_text(statuses: Sequence[AddonStatus], style: Style) -> str:
    if not statuses:
        return "the inventory has no add-ons; `talosmith addons list --all` shows those that talosmith knows"
    rows = [(one.name, _version(one), one.namespace, one.state.replace("-", " "), one.enabled_by) for one in statuses]
    lines = list(table(("ADD-ON", "VERSION", "NAMESPACE", "STATE", "ENABLED BY"), rows, style))
    for one in statuses:
        if one.detail and one.state != "built-in":
            look = getattr(style, _LOOKS.get(one.state, "yellow"))
            lines.append(f"{look(one.name)}: {one_line(one.detail)}")
    return "\n".join(lines)


def _version(one: AddonStatus) -> str:
    if one.installed_version and one.version and one.installed_version != one.version:
        return f"{one.installed_version} → {one.version}"
    return one.version or one.installed_version or "-"


def catalogue_data() -> dict[str, Any]:
    found = []
    for name in NAMES:
        known = addon(name)
        found.append(
            {
                "name": name,
                "title": known.title,
                "namespace": known.namespace,
                "stage": known.stage,
                "chart": known.chart.source if known.chart else "",
                "versions": dict(known.chart.versions) if known.chart else {},
                "rendered_by_tests": known.rendered_by_tests,
            }
        )
    return {"addons": found}


def catalogue_text(style: Style) -> str:
    rows = [(one["name"], next(iter(one["versions"]), "-"), one["title"]) for one in catalogue_data()["addons"]]
    return "\n".join(table(("ADD-ON", "VERSION", "WHAT IT IS"), rows, style))


def diff_text(changes: Mapping[str, Sequence[ObjectChange]], style: Style) -> str:
    """As `diff -u`, object by object; what is left alone, with the reason."""
    lines: list[str] = []
    for name, each in changes.items():
        for one in each:
            note = f" ({one_line(one.note)})" if one.note else ""
            lines.append(style.bold(f"{_WORDS[one.outcome]} {name}: {one_line(one.ref)}{note}"))
            for line in one.diff.splitlines():
                look = style.green if line.startswith("+") else style.red if line.startswith("-") else style.dim
                lines.append(look(escaped_line(line)))
    return "\n".join(lines) or "no difference"


def diff_data(changes: Mapping[str, Sequence[ObjectChange]]) -> dict[str, Any]:
    return {
        "objects": [
            {"addon": name, "object": one.ref, "outcome": one.outcome, "note": one.note, "diff": one.diff}
            for name, each in changes.items()
            for one in each
        ]
    }


def objects_text(objects: Sequence[Mapping[str, Any]]) -> str:
    """YAML documents."""
    return "---\n".join(map(goyaml.dump, objects)).rstrip("\n")
