"""Checks values against the JSON schema that a chart may bring (values.schema.json)."""

from __future__ import annotations

import json
from typing import Any

from talosmith.helm.chart import Chart
from talosmith.helm.errors import ChartError

_SHOWN = 10


def check(chart: Chart, values: dict[str, Any]) -> None:
    """Raises with every place that the schemas of the chart and its subcharts object to."""
    problems = _problems(chart, values)
    if problems:
        more = f"\n… and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise ChartError(
            "the values are not what the chart's schema asks for:\n" + "\n".join(problems[:_SHOWN]) + more,
            hint="correct the values",
        )


def _problems(chart: Chart, values: dict[str, Any]) -> list[str]:
    found = _against(chart.name, chart.schema, values) if chart.schema else []
    for subchart in chart.subcharts:
        part = values.get(subchart.name)
        if isinstance(part, dict):
            found += _problems(subchart, part)
    return found


def _against(name: str, text: bytes, values: dict[str, Any]) -> list[str]:
    # Both take long to import, and few charts have a schema.
    import jsonschema  # type: ignore[import-untyped, unused-ignore]
    import referencing

    try:
        schema = json.loads(text)
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        # With a registry of its own, nothing is fetched from the addresses that a schema may name.
        found = kind(schema, registry=referencing.Registry()).iter_errors(_whole_numbers(values))
        errors = sorted(found, key=lambda error: list(map(str, error.absolute_path)))
    except (ValueError, jsonschema.SchemaError) as problem:
        raise ChartError(f"the schema of chart {name} cannot be read: {problem}") from None
    except referencing.exceptions.Unresolvable as problem:
        raise ChartError(
            f"the schema of chart {name} refers to {problem.ref}, which is not part of the chart",
            hint="report it to the chart's authors",
        ) from None
    return [f"{name}: {'.'.join(map(str, one.absolute_path)) or '(top)'}: {_message(one)}" for one in errors]


def _message(error: Any) -> str:
    """What the schema asks for, without the value: that may be a secret."""
    if error.validator in ("required", "additionalProperties", "dependentRequired"):
        return str(error.message)  # tells of names alone
    return f"must meet {error.validator}: {json.dumps(error.validator_value)[:200]}"


def _whole_numbers(value: Any) -> Any:
    """Old schemas take 80.0 for something else than the whole number that it is."""
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
