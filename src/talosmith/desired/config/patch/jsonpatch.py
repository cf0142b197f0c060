"""RFC 6902 on plain values, as lenient and as strict as the library that Talos uses.

Two leniencies: `replace` sets a mapping's key that does not exist, and a negative index counts from the end.
Nothing is changed in place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Operation = Mapping[str, Any]

_ABSENT: Any = object()


class JsonPatchError(ValueError):
    """An operation that cannot be done, or is not one."""


def apply_operations(document: Any, operations: Sequence[Operation]) -> Any:
    for operation in operations:
        document = _apply(document, operation)
    return document


def _apply(document: Any, operation: Operation) -> Any:
    name = operation.get("op")
    if name in ("add", "replace"):
        change = _add if name == "add" else _replace
        return _at(document, _pointer(operation, "path"), change(operation.get("value")), whole=name == "replace")
    if name == "remove":
        return _at(document, _pointer(operation, "path"), _remove)
    if name == "test":
        pointer = _pointer(operation, "path")
        if _same(_get(document, pointer), operation.get("value")):
            return document
        raise JsonPatchError(f"test of {_text(pointer)} failed")
    if name in ("move", "copy"):
        source = _pointer(operation, "from")
        if not source:
            raise JsonPatchError(f"{name} needs a place to take the value from")
        value = _get(document, source)
        if name == "move":
            document = _at(document, source, _remove)
        return _at(document, _pointer(operation, "path"), _add(None if value is _ABSENT else value))
    raise JsonPatchError("an operation's op is add, remove, replace, move, copy or test")


def _pointer(operation: Operation, key: str) -> list[str]:
    text = operation.get(key)
    if not isinstance(text, str):
        raise JsonPatchError(f"an operation lacks its {key}")
    return [re.sub("~[01]", lambda match: "/" if match[0] == "~1" else "~", part) for part in text.split("/")][1:]


def _text(pointer: Sequence[str]) -> str:
    return "/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in pointer)


Change = Callable[[Any, str], Any]


def _at(document: Any, pointer: list[str], change: Change, *, whole: bool = False) -> Any:
    """The document with its place changed; what lies beside the way to it is shared."""
    if not pointer:
        if not whole:
            raise JsonPatchError("only replace may take the whole document as its place")
        return change({"": None}, "")[""]

    def descend(value: Any, depth: int) -> Any:
        key = pointer[depth]
        if not isinstance(value, dict | list):
            raise JsonPatchError(f"there is no {_text(pointer[:depth])} to go into")
        if depth == len(pointer) - 1:
            return change(value, key)
        inner = _child(value, key)
        if inner is _ABSENT or inner is None:
            raise JsonPatchError(f"there is no {_text(pointer[: depth + 1])}")
        made = descend(inner, depth + 1)
        if isinstance(value, dict):
            return {**value, key: made}
        index = _index(value, key)
        return [*value[:index], made, *value[index + 1 :]]

    return descend(document, 0)


def _get(document: Any, pointer: list[str]) -> Any:
    for depth, key in enumerate(pointer):
        if not isinstance(document, dict | list):
            raise JsonPatchError(f"there is no {_text(pointer[: depth + 1])}")
        document = _child(document, key)
        if document is _ABSENT and depth < len(pointer) - 1:
            raise JsonPatchError(f"there is no {_text(pointer[: depth + 1])}")
    return document


def _child(value: dict[str, Any] | list[Any], key: str) -> Any:
    return value.get(key, _ABSENT) if isinstance(value, dict) else value[_index(value, key)]


def _index(items: Sequence[Any], key: str, room: int = 0) -> int:
    """The position that a list's key means; `room` more than there are when one is to be added."""
    if not re.fullmatch("[-+]?[0-9]+", key):
        raise JsonPatchError(f"{key!r} is not an index of a list")
    index, size = int(key), len(items) + room
    if not -size <= index < size:
        raise JsonPatchError(f"a list of {len(items)} has no index {index}")
    return index % size


def _add(new: Any) -> Change:
    def add(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {**value, key: new}
        index = len(value) if key == "-" else _index(value, key, room=1)
        return [*value[:index], new, *value[index:]]

    return add


def _replace(new: Any) -> Change:
    def replace(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {**value, key: new}
        index = _index(value, key)
        return [*value[:index], new, *value[index + 1 :]]

    return replace


def _remove(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        if key not in value:
            raise JsonPatchError(f"there is no key {key!r} to remove")
        return {name: kept for name, kept in value.items() if name != key}
    index = _index(value, key)
    return [*value[:index], *value[index + 1 :]]


def _same(left: Any, right: Any) -> bool:
    left = None if left is _ABSENT else left
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)  # 1 is neither 1.0 nor true
