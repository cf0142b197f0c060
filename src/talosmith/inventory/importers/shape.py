"""Holds the data of a file against a table of the keys it may have: what is unknown or of the wrong kind is told.

A table is a mapping of keys to kinds. A kind is one of the words below, a list with the kind of its items, or another
table.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, TypeAlias

from talosmith.inventory.importers.remarks import Remarks
from talosmith.inventory.parse import Path, resolve_plain

TEXT = "text"
FLAG = "true or false"
NUMBER = "a whole number"
SCALAR = "a single value"
TEXTS = "a mapping of names to text"
FREE = "anything"

Shape: TypeAlias = "str | list[Shape] | dict[str, Shape]"

_ABSENT: Any = object()


def fit(value: Any, shape: Shape, remarks: Remarks, path: Path = ()) -> Any:
    """What of the value fits the table; the rest goes to the remarks."""
    fitted = _fit(value, shape, remarks, path)
    return {} if fitted is _ABSENT else fitted


def _fit(value: Any, shape: Shape, remarks: Remarks, path: Path) -> Any:
    if value is None:
        return _ABSENT
    if isinstance(shape, dict):
        return _table(value, shape, remarks, path)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _wrong(remarks, path, "a list")
        items = [_fit(item, shape[0], remarks, (*path, index)) for index, item in enumerate(value)]
        return [item for item in items if item is not _ABSENT]
    if shape == TEXTS:
        return _texts(value, remarks, path)
    if shape == FREE:
        return value
    return _scalar(value, shape, remarks, path)


def _table(value: Any, table: dict[str, Shape], remarks: Remarks, path: Path) -> Any:
    if not isinstance(value, dict):
        return _wrong(remarks, path, "a mapping")
    made: dict[str, Any] = {}
    for key, inner in value.items():
        if key not in table:
            close = get_close_matches(key, table, n=1)
            fix = f"did you mean `{close[0]}`?" if close else "remove it, or say it in a patch"
            remarks.left_out((*path, key), "this key is not known here", "the other tool ignores such keys", fix)
            continue
        fitted = _fit(inner, table[key], remarks, (*path, key))
        if fitted is not _ABSENT:
            made[key] = fitted
    return made


def _texts(value: Any, remarks: Remarks, path: Path) -> Any:
    if not isinstance(value, dict):
        return _wrong(remarks, path, TEXTS)
    fitted = {key: _scalar(inner, TEXT, remarks, (*path, key)) for key, inner in value.items()}
    return {key: inner for key, inner in fitted.items() if inner is not _ABSENT}


def _scalar(value: Any, shape: str, remarks: Remarks, path: Path) -> Any:
    if isinstance(value, dict | list):
        return _wrong(remarks, path, shape)
    if shape == TEXT:
        return as_text(value)
    if shape in (FLAG, NUMBER) and isinstance(value, str):
        value = resolve_plain(value)  # it may have been a variable
    if shape == FLAG and not isinstance(value, bool):
        return _wrong(remarks, path, shape)
    if shape == NUMBER and (isinstance(value, bool) or not isinstance(value, int)):
        return _wrong(remarks, path, shape)
    return value


def as_text(value: Any) -> str:
    """What a field for text holds when YAML gives another kind of value for it."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    return str(value)


def _wrong(remarks: Remarks, path: Path, wanted: str) -> Any:
    remarks.left_out(path, f"this is not {wanted}", "another kind of value is expected here")
    return _ABSENT
