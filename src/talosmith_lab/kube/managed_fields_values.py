"""Values seen through their shape: which fields they set, how two differ, one merged into the other, fields removed.

The rules are those of server-side apply: a list is a whole, a set, or a map by keys; a map is a whole or its entries;
structs are their fields. Where the shape says nothing, lists are wholes and maps are their entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from talosmith_lab.kube.managed_fields_paths import Path, Paths, below, item_element
from talosmith_lab.kube.schema import ANY, Form, Schema

ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "ABSENT"})()


def field_set(value: Any, schema: Schema) -> Paths:
    """Every field that a value sets."""
    found: set[Path] = set()
    _field_set(value, schema, (), found)
    found.discard(())
    return frozenset(found)


def _field_set(value: Any, schema: Schema, path: Path, found: set[Path]) -> None:
    if isinstance(value, dict) and _may_be_map(schema):
        if schema.is_atomic:
            found.add(path)
            return
        for name, inner in value.items():
            here = (*path, f"f:{name}")
            _field_set(inner, schema.child(name) or ANY, here, found)
            if inner is None or inner == {} or schema.field(name) is None:
                found.add(here)
    elif isinstance(value, list) and _is_keyed(schema):
        for element, items in _grouped(value, schema).items():
            here = (*path, element)
            if len(items) == 1:
                _field_set(items[0], schema.items, here, found)
            found.add(here)
    elif value is None and _is_open(schema):
        return
    else:
        found.add(path)


@dataclass
class Difference:
    added: set[Path] = field(default_factory=set)
    modified: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)

    def without(self, ignored: Iterable[Path]) -> Difference:
        """Leaving out these fields and all below them."""
        prefixes = tuple(ignored)

        def kept(paths: set[Path]) -> set[Path]:
            return {path for path in paths if not any(path[: len(prefix)] == prefix for prefix in prefixes)}

        return Difference(kept(self.added), kept(self.modified), kept(self.removed))


def compare(left: Any, right: Any, schema: Schema) -> Difference:
    difference = Difference()
    _compare(left, right, schema, (), difference)
    for paths in (difference.added, difference.modified, difference.removed):
        paths.discard(())
    return difference


def _compare(left: Any, right: Any, schema: Schema, path: Path, into: Difference) -> None:
    # Of builtin kinds no field is now a number, now a truth value, which Python takes for the same.
    if left is right or (not schema.custom and left == right):
        return
    if isinstance(left, dict) != isinstance(right, dict) and _is_there(left) and _is_there(right):
        _compare_forms(left, right, schema, path, into)
        return
    if _compare_as_leaf(left, right, schema):
        if left is ABSENT:
            into.added.add(path)
        elif right is ABSENT:
            into.removed.add(path)
        elif left != right or (type(left) is not type(right) and isinstance(left, bool) != isinstance(right, bool)):
            into.modified.add(path)
        return
    if isinstance(left, dict) or isinstance(right, dict):
        _compare_maps(left, right, schema, path, into)
    else:
        _compare_lists(left, right, schema, path, into)
    if left is ABSENT:
        into.added.add(path)
    elif right is ABSENT:
        into.removed.add(path)


def _compare_as_leaf(left: Any, right: Any, schema: Schema) -> bool:
    present = [value for value in (left, right) if value is not ABSENT and value is not None]
    if not present or all(value in ({}, []) for value in present):
        return True
    if all(isinstance(value, dict) for value in present):
        return not _may_be_map(schema) or schema.is_atomic
    if all(isinstance(value, list) for value in present):
        return not _is_keyed(schema)
    return True


def _compare_forms(left: Any, right: Any, schema: Schema, path: Path, into: Difference) -> None:
    """A map that becomes something else, or the other way round: modified, and what is below it comes or goes."""
    into.modified.add(path)
    if not schema.is_atomic:
        if isinstance(left, dict):
            _compare_maps(left, ABSENT, schema, path, into)
        else:
            _compare_maps(ABSENT, right, schema, path, into)


def _compare_maps(left: Any, right: Any, schema: Schema, path: Path, into: Difference) -> None:
    one = left if isinstance(left, dict) else {}
    other = right if isinstance(right, dict) else {}
    for name in [*one, *(name for name in other if name not in one)]:
        inner = schema.child(name) or ANY
        _compare(one.get(name, ABSENT), other.get(name, ABSENT), inner, (*path, f"f:{name}"), into)


def _compare_lists(left: Any, right: Any, schema: Schema, path: Path, into: Difference) -> None:
    """Item by item; those that a list has several times, against its rules, are taken together."""
    ours, theirs = _grouped(left, schema), _grouped(right, schema)
    for element in [*ours, *(element for element in theirs if element not in ours)]:
        here = (*path, element)
        one, other = ours.get(element, []), theirs.get(element, [])
        if len(one) <= 1 and len(other) <= 1:
            _compare(one[0] if one else ABSENT, other[0] if other else ABSENT, schema.items, here, into)
        elif len(one) > 1 and len(other) > 1:
            if one != other:
                into.modified.add(here)
        elif len(one) > 1:
            if other:
                _compare(ABSENT, other[0], schema.items, here, into)
            into.removed.add(here)
        else:
            if one:
                _compare(one[0], ABSENT, schema.items, here, into)
            into.added.add(here)


def _grouped(items: Any, schema: Schema) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for index, item in enumerate(items if isinstance(items, list) else ()):
        found.setdefault(item_element(item, schema, index), []).append(item)
    return found


def merge(live: Any, applied: Any, schema: Schema) -> Any:
    """What is applied wins; what it does not mention stays."""
    if applied is ABSENT:
        return live
    if live is ABSENT:
        live = None
    if isinstance(applied, dict) and _may_be_map(schema) and not schema.is_atomic:
        if not isinstance(live, dict):
            return _merge_maps({}, applied, schema)
        return _merge_maps(live, applied, schema) if applied or live else applied
    if isinstance(applied, list) and _is_keyed(schema):
        ours = live if isinstance(live, list) else []
        return _merge_lists(ours, applied, schema) if applied or ours else applied
    if applied is None and live and _is_open(schema) and not schema.is_atomic and isinstance(live, dict | list):
        return live  # nothing said about what is inside
    return applied


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], schema: Schema) -> dict[str, Any]:
    names = [*live, *(name for name in applied if name not in live)]
    return {
        name: merge(live.get(name, ABSENT), applied.get(name, ABSENT), schema.child(name) or ANY) for name in names
    }


def _merge_lists(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    """The order of what is applied holds; items that only the live list has stay where they stood between them."""
    stand = [(item_element(item, schema, index), item) for index, item in enumerate(live)]
    left = [element for element, _ in stand]
    ours = {element: item for element, item in stand if left.count(element) == 1}
    theirs = {item_element(item, schema, index): item for index, item in enumerate(applied)}
    right = list(theirs)
    shared = [element for element in right if element in set(left)]
    done: set[str] = set()
    merged: list[Any] = []
    here = there = 0

    def take(element: str) -> None:
        merged.append(merge(ours.get(element, ABSENT), theirs.get(element, ABSENT), schema.items))
        done.add(element)
        if shared and shared[0] == element:
            shared.pop(0)

    while here < len(left) or there < len(right):
        if here < len(left) and there < len(right):
            if left[here] == right[there]:
                take(left[here])
                here, there = here + 1, there + 1
                continue
            if left[here] in theirs and shared and shared[0] != left[here]:
                here += 1  # shared, but its turn comes later
                continue
        if here < len(left):
            if left[here] not in theirs:
                merged.append(stand[here][1])
                here += 1
                continue
            if left[here] in done:
                here += 1
        if there < len(right):
            take(right[there])
            there += 1
    return merged


def remove(value: Any, paths: AbstractSet[Path], schema: Schema) -> Any:
    """Without these fields; a map or list that thereby loses all is nothing."""
    if not paths:
        return value
    if isinstance(value, dict):
        if schema.is_atomic:
            return None
        return _remove_from_map(value, paths, schema) or None
    if isinstance(value, list):
        return (_remove_from_list(value, paths, schema) or None) if _is_keyed(schema) else None
    return value


def _remove_from_map(value: dict[str, Any], paths: AbstractSet[Path], schema: Schema) -> dict[str, Any]:
    unwanted = below(paths)
    kept = {}
    for name, inner in value.items():
        itself, rests = unwanted.get(f"f:{name}", (False, []))
        if not itself:
            kept[name] = remove(inner, frozenset(rests), schema.child(name) or ANY) if rests else inner
    return kept


def _remove_from_list(value: list[Any], paths: AbstractSet[Path], schema: Schema) -> list[Any]:
    unwanted = below(paths)
    kept = []
    for index, item in enumerate(value):
        itself, rests = unwanted.get(item_element(item, schema, index), (False, []))
        if not itself:
            kept.append(remove(item, frozenset(rests), schema.items) if rests else item)
    return kept


def _is_there(value: Any) -> bool:
    return value is not ABSENT and value is not None


def _may_be_map(schema: Schema) -> bool:
    return schema.form in (Form.STRUCT, Form.MAP, Form.ANY)


def _is_keyed(schema: Schema) -> bool:
    return schema.form is Form.LIST and schema.list_type != "atomic"


def _is_open(schema: Schema) -> bool:
    """Whether nothing at this place is no field by itself."""
    return schema.form in (Form.STRUCT, Form.MAP) or _is_keyed(schema)
