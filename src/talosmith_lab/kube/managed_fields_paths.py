"""Sets of fields, and how they are written into an object's `managedFields`.

A path is a tuple of elements in their written form: `f:name` for a field, `k:{"name":"a"}` for an item of a list by
its keys, `v:"x"` for an item of a set. A set of fields is a set of such paths.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from talosmith_lab.kube.schema import Form, Schema

Path = tuple[str, ...]
Paths = frozenset[Path]

SELF = "."  # in the written form: the element itself, not only what is below it
_RANK = {"f": 0, "k": 1, "v": 2, "i": 3}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def item_element(item: Any, schema: Schema, index: int) -> str:
    """What an item of a list is known by; its place where it is of no use as a member of a set or a map."""
    if schema.list_type == "set":
        return f"v:{compact(item)}"
    if not isinstance(item, dict):
        return f"i:{index}"
    keys = {}
    for name in sorted(schema.list_keys):
        value = item.get(name)
        if value is None:
            field = schema.items.field(name)
            value = None if field is None else field.default
        if value is not None:
            keys[name] = value
    return f"k:{compact(keys)}"


def written(paths: AbstractSet[Path]) -> dict[str, Any]:
    """As `fieldsV1`."""
    tree: dict[str, Any] = {}
    for path in paths:
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node[SELF] = {}
    return _tidied(tree)


def _tidied(tree: dict[str, Any]) -> dict[str, Any]:
    """In the API server's order, and a member that has nothing below it is just empty."""
    if set(tree) == {SELF}:
        return {}
    return {element: _tidied(tree[element]) for element in sorted(tree, key=_order)}


def _order(element: str) -> tuple[int, str]:
    return (-1, "") if element == SELF else (_RANK.get(element[0], 4), element)


def read(fields: Mapping[str, Any]) -> Paths:
    """From `fieldsV1`."""
    found: set[Path] = set()
    _read(fields, (), found)
    return frozenset(found)


def _read(fields: Mapping[str, Any], path: Path, found: set[Path]) -> None:
    for element, below in fields.items():
        if element == SELF:
            found.add(path)
        elif not below:
            found.add((*path, element))
        else:
            _read(below, (*path, element), found)


def below(paths: AbstractSet[Path]) -> dict[str, tuple[bool, list[Path]]]:
    """By first element: whether it is itself in the set, and the rests of the longer paths."""
    found: dict[str, tuple[bool, list[Path]]] = {}
    for path in paths:
        itself, rests = found.get(path[0], (False, []))
        if len(path) == 1:
            found[path[0]] = (True, rests)
        else:
            rests.append(path[1:])
            found[path[0]] = (itself, rests)
    return found


def with_named_parents(paths: AbstractSet[Path], schema: Schema) -> Paths:
    """And every named field that has one of them below it."""
    more = set(paths)
    seen: set[Path] = set()
    for path in paths:
        place: Schema | None = schema
        for depth, element in enumerate(path[:-1], 1):
            if place is None:
                break
            is_named = element[0] == "f" and place.form is Form.STRUCT and place.field(element[2:]) is not None
            prefix = path[:depth]
            if prefix not in seen:
                seen.add(prefix)
                if is_named:
                    more.add(prefix)
            place = place.child(element[2:]) if element[0] == "f" else place.items
    return frozenset(more)


def iteration_order(path: Path) -> list[tuple[int, int, str]]:
    """A key to sort by: at each level first the members, then what is below others, as the API server goes."""
    last = len(path) - 1
    return [(int(depth < last), _RANK.get(element[0], 4), element) for depth, element in enumerate(path)]


def readable(path: Sequence[str]) -> str:
    """`.spec.containers[name="a"].image`, as messages have it."""
    return "".join(_readable(element) for element in path)


def _readable(element: str) -> str:
    kind, rest = element[0], element[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        return "[" + ",".join(f"{name}={compact(value)}" for name, value in json.loads(rest).items()) + "]"
    return f"[={rest}]" if kind == "v" else f"[{rest}]"
