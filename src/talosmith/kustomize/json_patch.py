"""JSON patches (RFC 6902) on objects, with the habits of the Go library that kustomize uses."""

from __future__ import annotations

from typing import Any

from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.objects import copied

_OPERATIONS = {"add", "remove", "replace", "move", "copy", "test"}


def apply(document: Any, operations: list[Any]) -> None:
    """Change the document; raises with the operation that does not fit."""
    for operation in operations:
        if not isinstance(operation, dict) or operation.get("op") not in _OPERATIONS:
            raise ManifestError("an operation of a JSON patch needs `op` (add, remove, replace, move, copy, test)")
        try:
            _apply(document, operation)
        except (LookupError, TypeError, ValueError) as wrong:
            what = " ".join(str(operation[key]) for key in ("op", "from", "path") if key in operation)
            raise ManifestError(f"JSON patch: {what}: {wrong.args[0] if wrong.args else wrong}") from None


def _apply(document: Any, operation: dict[str, Any]) -> None:
    op, path = operation["op"], _split(operation.get("path"))
    if op in ("move", "copy"):
        source = _split(operation.get("from"))
        value = _get(document, source)
        if op == "move":
            _remove(document, source)
        _add(document, path, copied(value))
    elif op == "add":
        _add(document, path, copied(_value(operation)))
    elif op == "remove":
        _remove(document, path)
    elif op == "replace":
        _replace(document, path, copied(_value(operation)))
    else:
        _test(document, path, operation.get("value"))


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise ValueError("`value` is missing")
    return operation["value"]


def _split(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise ValueError("a path starts with a slash")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def _get(document: Any, path: list[str]) -> Any:
    value = document
    for place, part in enumerate(path):
        where = "/" + "/".join(path[: place + 1])
        if isinstance(value, list):
            value = value[_index(part, value)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            raise LookupError(f"{where} does not exist")
    return value


def _index(part: str, values: list[Any], *, end: int = 0) -> int:
    """Of an element; with `end=1` also of the place behind the last one. Negative ones count from there."""
    try:
        index = int(part)
    except ValueError:
        raise LookupError(f"{part} is not an index of a list") from None
    if index < 0:
        index += len(values) + end
    if not 0 <= index < len(values) + end:
        raise LookupError(f"the list has no element {part}")
    return index


def _add(document: Any, path: list[str], value: Any) -> None:
    parent, last = _get(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _index(last, parent, end=1), value)
    elif isinstance(parent, dict):
        parent[last] = value
    else:
        raise LookupError("its parent is neither a map nor a list")


def _remove(document: Any, path: list[str]) -> None:
    _get(document, path)
    parent, last = _get(document, path[:-1]), path[-1]
    del parent[_index(last, parent) if isinstance(parent, list) else last]


def _replace(document: Any, path: list[str], value: Any) -> None:
    """A key of a map is added if it does not exist, other than RFC 6902 has it."""
    parent, last = _get(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    else:
        _get(document, path)
        parent[_index(last, parent)] = value


def _test(document: Any, path: list[str], value: Any) -> None:
    """A key of a map that does not exist passes as null."""
    parent = _get(document, path[:-1])
    found = parent.get(path[-1]) if isinstance(parent, dict) else _get(document, path)
    if found != value or isinstance(found, bool) != isinstance(value, bool):
        raise ValueError("the value differs")
