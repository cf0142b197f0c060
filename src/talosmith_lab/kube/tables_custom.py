"""The columns that a definition asks for: a name, a type, and a path into the object."""

from __future__ import annotations

import json
import operator
import re
from typing import Any

from talosmith_lab.kube.tables_columns import Columns, Obj, column, name_of, since

_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_STEP = re.compile(
    r"""\.\.                                                     # all the way down, which no column uses
    | \.(?P<field>(?:\\.|[^.\[\]\\])+)                           # .spec, .annotations.a\.b
    | \[['"](?P<quoted>[^'"]+)['"]\]                             # ['spec']
    | \[(?P<index>-?\d+)\]                                       # [0], [-1]
    | (?P<each>\[\*\])
    | \[\?\(@\.(?P<left>[\w.\\/-]+)\s*(?P<sign>==|!=|>=|<=|>|<)\s*(?P<right>[^)]+)\)\]   # [?(@.type=="Ready")]
    | \[(?P<slice>-?\d*:-?\d*)\]""",
    re.VERBOSE,
)
_COMPARED = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}


def custom_columns(crd: Obj, version: str) -> Columns:
    """Of this version of the defined kind."""
    declared: Obj = next((one for one in crd["spec"]["versions"] if one["name"] == version), {})
    asked = declared.get("additionalPrinterColumns") or [_AGE]
    definitions = [column(one["name"], one["type"], one.get("format", ""), one.get("priority", 0)) for one in asked]
    paths = [(one["type"], one["jsonPath"]) for one in asked]

    def cells(item: Obj, now: float) -> list[Any]:
        return [name_of(item), *(_cell(kind, find(item, path), now) for kind, path in paths)]

    return Columns((column("Name", shape="name"), *definitions), cells)


def _cell(kind: str, found: list[Any], now: float) -> Any:
    """Of what was found, the first; nothing where it is not of the column's type."""
    if not found:
        return None
    value = found[0]
    match kind:
        case "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
        case "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "string":
            return _text(value)
        case "date" if isinstance(value, str):
            try:
                return since(value, now)
            except ValueError:
                return "<invalid>"
    return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return str(value)


def find(item: Any, path: str) -> list[Any]:
    """What stands at a path such as `.status.conditions[?(@.type=="Ready")].status`."""
    found, position = [item], 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            return []
        found = [value for one in found for value in _step(one, match)]
        position = match.end()
    return found


def _step(value: Any, match: re.Match[str]) -> list[Any]:
    field = match["field"] or match["quoted"]
    if field is not None:
        name = re.sub(r"\\(.)", r"\1", field)
        return [value[name]] if isinstance(value, dict) and name in value else []
    if match["each"]:
        return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    if not isinstance(value, list):
        return []
    if match["index"]:
        index = int(match["index"])
        return [value[index]] if -len(value) <= index < len(value) else []
    if match["slice"]:
        start, _, end = match["slice"].partition(":")
        return value[int(start) if start else None : int(end) if end else None]
    if match["left"]:
        wanted = _literal(match["right"].strip())
        return [one for one in value if _holds(find(one, f".{match['left']}"), match["sign"], wanted)]
    return []


def _literal(text: str) -> Any:
    if text[:1] in ("'", '"'):
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text


def _holds(found: list[Any], sign: str, wanted: Any) -> bool:
    if not found:
        return False
    value = found[0]
    if sign in ("==", "!="):
        return bool((value == wanted) == (sign == "=="))
    if isinstance(value, str) != isinstance(wanted, str):
        return False
    return bool(_COMPARED[sign](value, wanted))
