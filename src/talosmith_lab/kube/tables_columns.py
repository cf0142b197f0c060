"""What a table's columns are made of, and the ways of writing that many kinds share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Obj = dict[str, Any]
Cells = Callable[[Obj, float], list[Any]]

NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 24 * 3600, 365 * 24 * 3600
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "", "DoesNotExist": "!"}


@dataclass(frozen=True)
class Columns:
    definitions: tuple[Mapping[str, Any], ...]
    cells: Cells


def column(name: str, kind: str = "string", shape: str = "", priority: int = 0) -> Mapping[str, Any]:
    return {"name": name, "type": kind, "format": shape, "description": "", "priority": priority}


def columns(names: str, cells: Cells) -> Columns:
    """Of names such as `Node_Selector`, `+IP`, `Desired:integer` or `Attacher::name`, which is a format.

    A plus is for wide output only.
    """
    found = []
    for word in names.split():
        match = re.fullmatch(r"(\+?)([^:]+)(?::([^:]*))?(?::(.+))?", word)
        assert match is not None  # noqa: S101 - the texts stand in our own tables
        plus, name, kind, shape = match.groups()
        shape = "name" if name == "Name" else shape or ""
        found.append(column(name.replace("_", " "), kind or "string", shape, len(plus)))
    return Columns(tuple(found), cells)


def name_of(item: Obj) -> str:
    return str(item["metadata"].get("name", ""))


def age(item: Obj, now: float) -> str:
    return since(item["metadata"].get("creationTimestamp"), now)


def seconds_of(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()


def since(timestamp: Any, now: float) -> str:
    """How long ago that was; times of objects are text, and may be missing."""
    return human_duration(now - seconds_of(timestamp)) if timestamp else UNKNOWN


def human_duration(seconds: float) -> str:
    """Two units at most, and the finer the shorter it is."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    for limit, (unit, mark), (finer, small) in (
        (10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
        (3 * _HOUR, (_MINUTE, "m"), (0, "")),
        (8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
        (2 * _DAY, (_HOUR, "h"), (0, "")),
        (8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
        (2 * _YEAR, (_DAY, "d"), (0, "")),
        (8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
    ):
        if whole < limit:
            rest = whole % unit // finer if finer else 0
            return f"{whole // unit}{mark}" + (f"{rest}{small}" if rest else "")
    return f"{whole // _YEAR}y"


def labels(found: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((found or {}).items())) or NONE


def selector(found: Obj | None) -> str:
    """As one would type it after `-l`."""
    if not found:
        return NONE
    parts = [(key, "=", [value]) for key, value in (found.get("matchLabels") or {}).items()]
    parts += [
        (one["key"], _OPERATORS.get(one["operator"], one["operator"]), one.get("values") or [])
        for one in found.get("matchExpressions") or []
    ]
    written = []
    for key, operator, values in sorted(parts, key=lambda part: part[0]):
        if operator == "=":
            written.append(f"{key}={values[0]}")
        elif operator in ("in", "notin"):
            written.append(f"{key} {operator} ({','.join(sorted(values))})")
        else:
            written.append(f"{operator}{key}")
    return ",".join(written) or NONE


def containers(template: Obj | None) -> list[str]:
    """The names and the images, each as one cell."""
    found = (template or {}).get("spec", {}).get("containers") or []
    return [",".join(one.get(field, "") for one in found) for field in ("name", "image")]


def some(found: Iterable[str], most: int, empty: str = NONE) -> str:
    """The first of them, and how many more there are."""
    told = list(found)
    if not told:
        return empty
    more = f" + {len(told) - most} more..." if len(told) > most else ""
    return ",".join(told[:most]) + more
