"""The functions that Go's text/template itself brings: comparing, indexing, measuring, printing."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus

from talosmith.helm.expressions import go_type
from talosmith.helm.go_text import printf, sprint, sprintln


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return "string"
    return ""


def equal(first: Any, *others: Any) -> bool:
    """Nil equals nil alone; values of different kinds cannot be compared."""
    if not others:
        raise TypeError("missing argument for comparison")
    return any(_same(first, other) for other in others)


def _same(first: Any, other: Any) -> bool:
    if type(first) is str and type(other) is str:
        return first == other
    if first is None or other is None:
        return first is None and other is None
    kind = _kind(first)
    if kind != _kind(other):
        raise TypeError("incompatible types for comparison")
    if not kind and isinstance(first, (Mapping, list, tuple, bytes)):
        raise TypeError(f"non-comparable types {go_type(first)}, {go_type(other)}")
    return bool(first == other)


def _less(first: Any, other: Any) -> bool:
    kind = _kind(first)
    if kind != _kind(other):
        raise TypeError("incompatible types for comparison")
    if kind in ("", "bool"):
        raise TypeError("invalid type for comparison")
    return bool(first < other)


def _less_or_equal(first: Any, other: Any) -> bool:
    return _less(first, other) or _same(first, other)


def index(value: Any, *keys: Any) -> Any:
    if value is None:
        raise TypeError("index of untyped nil")
    for key in keys:
        if value is None:
            raise TypeError("index of nil pointer")
        if isinstance(value, Mapping):
            if not isinstance(key, str):
                raise TypeError(f"value has type {go_type(key)}; should be string")
            value = value.get(key)
        elif isinstance(value, (list, tuple, str, bytes)):
            value = _element(value, key)
        else:
            raise TypeError(f"can't index item of type {go_type(value)}")
    return value


def _element(value: Any, key: Any) -> Any:
    if not isinstance(key, int) or isinstance(key, bool):
        raise TypeError(f"cannot index slice/array with type {go_type(key)}")
    sequence = value.encode() if isinstance(value, str) else value
    if not 0 <= key < len(sequence):
        raise IndexError(f"error calling index: index out of range: {key}")
    return sequence[key]


def length(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    if isinstance(value, (list, tuple, bytes, Mapping)):
        return len(value)
    if value is None:
        raise TypeError("len of nil pointer")
    raise TypeError(f"len of type {go_type(value)}")


def cut(value: Any, *bounds: Any) -> Any:
    """`slice` of Go itself; Sprig's takes its place in charts, but for text it is this one."""
    sequence = value.encode() if isinstance(value, str) else value
    start, stop = (*bounds, *(0, len(sequence))[len(bounds) :])[:2]
    if not 0 <= start <= stop <= len(sequence):
        raise IndexError("index out of range")
    part = sequence[start:stop]
    return part.decode(errors="replace") if isinstance(value, str) else part


def _for_script(character: str) -> str:
    if character in "\\'\"":
        return "\\" + character
    if character in "<>&=" or not character.isprintable():
        return f"\\u{ord(character):04X}"
    return character


BUILTINS: dict[str, Callable[..., Any]] = {
    "and": lambda *values: values[-1],  # both are compiled: they stop early
    "or": lambda *values: values[-1],
    "not": lambda value: not value,
    "eq": equal,
    "ne": lambda first, other: not _same(first, other),
    "lt": _less,
    "le": _less_or_equal,
    "gt": lambda first, other: not _less_or_equal(first, other),
    "ge": lambda first, other: not _less(first, other),
    "index": index,
    "len": length,
    "slice": cut,
    "print": sprint,
    "println": sprintln,
    "printf": printf,
    "html": lambda *values: html.escape(sprint(*values)).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
    "urlquery": lambda *values: quote_plus(sprint(*values), safe=""),
    "js": lambda *values: "".join(map(_for_script, sprint(*values))),
    "call": lambda function, *values: function(*values),
}
