"""Templates as text, and as data for `-o json` and `-o yaml`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talosmith.providers.base import Template
from talosmith.report.style import Style
from talosmith.report.table import table

_HEADER = ("NAME", "ID", "HOST", "STORAGE", "IMAGE", "STATE", "USED BY")


def as_data(templates: Sequence[Template]) -> dict[str, Any]:
    return {
        "templates": [
            {
                "name": one.name,
                "id": one.id,
                "host": one.host,
                "storage": one.storage,
                "image": one.image,
                "finished": one.finished,
                "kept": one.kept,
                "used_by": list(one.used_by),
            }
            for one in templates
        ]
    }


def as_text(templates: Sequence[Template], style: Style) -> str:
    if not templates:
        return "there are no templates of talosmith; create one with `talosmith template create`"
    rows = [
        (
            one.name,
            one.id,
            one.host,
            one.storage,
            one.image,
            "" if one.finished else "not finished",
            ", ".join(one.used_by),
        )
        for one in templates
    ]
    return "\n".join(table(_HEADER, rows, style))
