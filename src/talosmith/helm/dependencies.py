"""Which subcharts take part (conditions, tags, aliases), and which of their values their parents take over."""

from __future__ import annotations

import dataclasses
from typing import Any

from talosmith.helm.chart import Chart, Dependency, show_dependencies
from talosmith.helm.errors import ChartError
from talosmith.helm.ranges import in_range
from talosmith.helm.values import coalesced, copied, merged, overlay


def process(chart: Chart, given: dict[str, Any]) -> None:
    """Changes the chart: what is switched off is gone, values to be imported are among its own."""
    _require_all(chart)
    _enable(chart, given, "")
    _import_values(chart)


def _require_all(chart: Chart) -> None:
    present = {subchart.name for subchart in chart.subcharts}
    missing = sorted({one.name for one in chart.declared} - present)
    if missing:
        raise ChartError(
            f"chart {chart.name} names subcharts that are not in its charts/ folder: {', '.join(missing)}",
            hint="run `helm dependency build`, or use the published archive of the chart",
        )


def _enable(chart: Chart, given: dict[str, Any], path: str) -> None:
    if not chart.declared:
        return
    unnamed = [
        one
        for one in chart.subcharts
        if not any(one.name == want.name and in_range(want.version, one.version) for want in chart.declared)
    ]
    named = []
    for want in chart.declared:
        found = _aliased(chart.subcharts, want)
        if found is not None:
            named.append(found)
        if want.alias:
            want.name = want.alias
    chart.adopt(unnamed + named)
    values = coalesced(chart, given)
    tags = values.get("tags")
    for want in chart.declared:
        want.enabled = _by_tags(want, tags if isinstance(tags, dict) else {})
        want.enabled = _by_condition(want, values, path)
    off = {want.name for want in chart.declared if not want.enabled}
    remaining = [one for one in chart.subcharts if one.name not in off]
    for subchart in remaining:
        _enable(subchart, values, f"{path}{subchart.name}.")
    chart.declared = [want for want in chart.declared if want.name not in off]
    show_dependencies(chart)
    chart.adopt(remaining)


def _aliased(charts: list[Chart], want: Dependency) -> Chart | None:
    for chart in charts:
        if chart.name != want.name or not in_range(want.version, chart.version):
            continue
        metadata = dict(chart.metadata)
        if want.alias:
            metadata["Name"] = want.alias
        copy = dataclasses.replace(
            chart, metadata=metadata, declared=[dataclasses.replace(one) for one in chart.declared]
        )
        copy.adopt([dataclasses.replace(one) for one in chart.subcharts])
        return copy
    return None


def _by_tags(want: Dependency, tags: dict[str, Any]) -> bool:
    switches = [tags[tag] for tag in want.tags if isinstance(tags.get(tag), bool)]
    return any(switches) or not switches


def _by_condition(want: Dependency, values: dict[str, Any], path: str) -> bool:
    """The first condition that is a bool decides."""
    for condition in want.condition.strip().split(","):
        if condition:
            value = _at(values, path + condition)
            if isinstance(value, bool):
                return value
    return want.enabled


def _at(values: dict[str, Any], path: str) -> Any:
    value: Any = values
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _import_values(chart: Chart) -> None:
    for subchart in chart.subcharts:
        _import_values(subchart)
    if not chart.declared:
        return
    values = merged(chart, {})
    imported: dict[str, Any] = {}
    for want in chart.declared:
        for one in want.import_values:
            if isinstance(one, dict):
                child, parent = str(one.get("child")), str(one.get("parent"))
            else:
                child, parent = f"exports.{one}", "."
            table = _at(values, f"{want.name}.{child}")
            if isinstance(table, dict):
                placed: dict[str, Any] = table
                for key in reversed([] if parent == "." else parent.split(".")):
                    placed = {key: placed}
                imported = overlay(imported, placed, keep_nulls=True)
    chart.values = overlay(copied(values), imported, keep_nulls=True)
