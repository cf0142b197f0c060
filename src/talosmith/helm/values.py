"""How a chart's values come together: the user's win, null removes a default, subcharts see their own part.

`coalesce` is what a chart is rendered with; `merge` keeps nulls, for values that are to be merged once more.
"""

from __future__ import annotations

from typing import Any

from talosmith.helm.chart import Chart
from talosmith.helm.errors import ChartError

GLOBAL = "global"


def coalesced(chart: Chart, given: dict[str, Any]) -> dict[str, Any]:
    """The values that the chart and the charts inside it are rendered with."""
    return _combine(chart, copied(given), keep_nulls=False)


def merged(chart: Chart, given: dict[str, Any]) -> dict[str, Any]:
    """The same with nulls kept."""
    return _combine(chart, copied(given), keep_nulls=True)


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def _combine(chart: Chart, target: dict[str, Any], *, keep_nulls: bool) -> dict[str, Any]:
    _add_defaults(chart, target, keep_nulls=keep_nulls)
    for subchart in chart.subcharts:
        part = target.setdefault(subchart.name, {})
        if not isinstance(part, dict):
            raise ChartError(
                f"the value {subchart.name!r} of chart {chart.name} must be a table, for it is the name of a subchart"
            )
        _hand_down_globals(target, part)
        _combine(subchart, part, keep_nulls=keep_nulls)
    return target


def _add_defaults(chart: Chart, target: dict[str, Any], *, keep_nulls: bool) -> None:
    names = {subchart.name for subchart in chart.subcharts}
    for key, default in copied(chart.values).items():
        if key not in target:
            if not keep_nulls:
                if default is None:
                    continue
                if isinstance(default, dict):
                    _drop_nulls(default)
            target[key] = default
        elif target[key] is None and not keep_nulls:
            del target[key]
        elif isinstance(target[key], dict) and isinstance(default, dict):
            keep = keep_nulls or key in names  # a subchart's own defaults are still to come
            if not keep:
                _drop_nulls(default)
            overlay(target[key], default, keep_nulls=keep)


def overlay(upper: dict[str, Any], lower: dict[str, Any], *, keep_nulls: bool) -> dict[str, Any]:
    """Adds to `upper` what only `lower` has. A null in `upper` takes away what `lower` has there."""
    had_value = {key for key, value in lower.items() if value is not None}
    for key, value in upper.items():
        if value is None:
            lower[key] = None
    for key, value in lower.items():
        if key not in upper:
            upper[key] = value
        elif upper[key] is None and not keep_nulls and key in had_value:
            del upper[key]
        elif isinstance(value, dict) and isinstance(upper[key], dict):
            overlay(upper[key], value, keep_nulls=keep_nulls)
    return upper


def _hand_down_globals(parent: dict[str, Any], part: dict[str, Any]) -> None:
    own = part.get(GLOBAL, {})
    handed = parent.get(GLOBAL, {})
    if not isinstance(own, dict) or not isinstance(handed, dict):
        return
    for key, value in handed.items():
        present = own.get(key)
        if isinstance(value, dict):
            table = dict(value)
            if key not in own:
                own[key] = table
            elif isinstance(present, dict):
                own[key] = overlay(table, present, keep_nulls=True)
        elif not isinstance(present, dict):
            own[key] = value
    part[GLOBAL] = own


def _drop_nulls(table: dict[str, Any]) -> None:
    for key in [key for key, value in table.items() if value is None]:
        del table[key]
    for value in table.values():
        if isinstance(value, dict):
            _drop_nulls(value)
