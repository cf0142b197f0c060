"""Differences of machine configs: with the live cluster as changed values, with files as a unified diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from talosmith.desired.outputs import Difference
from talosmith.observed.config_differences import ConfigDifference
from talosmith.report.plan import settings_lines
from talosmith.report.style import Style, wrapped
from talosmith.report.text import one_line


def live_data(found: Sequence[ConfigDifference]) -> list[dict[str, Any]]:
    return [
        {
            "node": one.node,
            "state": one.state,
            "reason": one.why,
            "changes": [asdict(change) for change in one.changes],
            "file": None,
            "lines": [],
        }
        for one in found
    ]


def files_data(found: Sequence[Difference]) -> list[dict[str, Any]]:
    return [
        {
            "node": one.node,
            "state": _state(one),
            "reason": "" if one.file else "no file to compare with",
            "changes": [],
            "file": str(one.file) if one.file else None,
            "lines": list(one.lines),
        }
        for one in found
    ]


def live_text(found: Sequence[ConfigDifference], style: Style, width: int | None = None) -> str:
    """Nodes with equal differences are shown once."""
    alike: dict[tuple[object, ...], list[ConfigDifference]] = {}
    for one in found:
        alike.setdefault((one.state, one.why, repr(one.changes)), []).append(one)
    lines = (line for group in alike.values() for line in _live(group, style))
    return "\n".join(part for line in lines for part in wrapped(line, width))


def _live(group: Sequence[ConfigDifference], style: Style) -> Iterator[str]:
    first, names = group[0], one_line(", ".join(one.node for one in group))
    if first.state == "same":
        yield f"{style.green('✓')} {names}: in sync"
    elif first.state == "unknown":
        yield f"{style.yellow('?')} {names}: live machine config is unknown: {one_line(first.why)}"
    else:
        yield style.bold(f"{names}: live machine config → inventory")
        yield from settings_lines([asdict(one) for one in first.changes], style, "  ")


def files_text(found: Sequence[Difference], style: Style) -> str:
    return "\n".join(line for one in found for line in _file(one, style))


def _file(one: Difference, style: Style) -> list[str]:
    state = _state(one)
    if state == "unknown":
        return [style.yellow(f"{one.node}: no file to compare with")]
    if state == "same":
        return [f"{style.green('✓')} {one.node}: same as {one.file}"]
    colours = {"+": style.green, "-": style.red, "@": style.cyan}
    return [colours.get(line[:1], str)(line) for line in one.lines]


def _state(one: Difference) -> str:
    return "unknown" if one.file is None else "different" if one.lines else "same"
