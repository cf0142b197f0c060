"""The YAML of charts, with what is wrong in it as an error of the chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from talosmith.helm.errors import ChartError
from talosmith.yaml import kubernetes
from talosmith.yaml.limits import LimitExceeded


def load(text: str, *, whole_numbers: bool = False) -> Any:
    """The first document of the text; nothing for an empty one."""
    return next(load_all(text, whole_numbers=whole_numbers), None)


def load_all(text: str, *, whole_numbers: bool = False) -> Iterator[Any]:
    """Every document of the text."""
    try:
        yield from kubernetes.load_all(text, whole_numbers=whole_numbers)
    except LimitExceeded as problem:
        raise ChartError(f"line {problem.line}: {problem.what}") from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        cause = getattr(problem, "problem", None) or str(problem).splitlines()[0]
        raise ChartError(f"this is no YAML: {f'line {mark.line + 1}: ' if mark else ''}{cause}") from None


def as_values(value: Any) -> Any:
    """The value with every number a floating-point number, as values are after their way through JSON."""
    if isinstance(value, dict):
        return {key: as_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_values(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value
