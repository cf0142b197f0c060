"""The services of a node as a table: state, health, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from talosmith.report.style import Style
from talosmith.report.table import table
from talosmith.report.text import duration, one_line
from talosmith.talos import Service

_HEADER = ("SERVICE", "STATE", "HEALTH", "SINCE", "LAST EVENT")
_HEALTH = {True: "healthy", False: "unhealthy", None: "unknown"}


def as_data(services: Sequence[Service]) -> list[dict[str, Any]]:
    return [
        {
            "service": one.id,
            "state": one.state,
            "health": _HEALTH[one.healthy],
            "message": one.message,
            "events": [
                {"time": _utc(event.time), "state": event.state, "message": event.message} for event in one.events
            ],
        }
        for one in services
    ]


def as_text(services: Sequence[Service], style: Style) -> str:
    now = datetime.now(UTC)
    header, *lines = table(_HEADER, [_row(one, now) for one in services], style) if services else ("no services",)
    return "\n".join([header, *(_coloured(one, line, style) for one, line in zip(services, lines, strict=True))])


def _row(one: Service, now: datetime) -> tuple[str, ...]:
    last = one.events[-1] if one.events else None
    since = duration((now - last.time).total_seconds()) if last else ""
    health = "" if one.healthy is None else _HEALTH[one.healthy]
    message = one.message if one.healthy is False and one.message else last.message if last else ""
    return one.id, one.state, health, since, one_line(message)


def _coloured(one: Service, line: str, style: Style) -> str:
    return style.red(line) if one.state == "Failed" or one.healthy is False else line


def _utc(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
