"""Strategic merge patches, the API server's own: lists are merged by a key, and directives say what else to do.

`$patch: delete | replace` stands in a map or in an item of a list; `$setElementOrder/<list>` gives the order that the
client wants, `$deleteFromPrimitiveList/<list>` what to take out, `$retainKeys` all keys that may stay.
Nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talosmith_lab.kube.errors import ApiError, bad_request, invalid_value
from talosmith_lab.kube.field_check import conversion_problem
from talosmith_lab.kube.schema import ANY, Obj, Schema

DIRECTIVE = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder/"
DELETE = "$deleteFromPrimitiveList/"


def strategic_merge(live: Obj, patch: Obj, schema: Schema) -> Obj:
    merged = _merge_map(live, patch, schema)
    problem = conversion_problem(merged, schema)
    if problem:
        found = invalid_value("patch", _go(patch), problem)
        raise ApiError(422, "Invalid", f' "" is invalid: patch: {found["message"]}', {"causes": [found]})
    return merged


def _merge_map(live: Obj, patch: Obj, schema: Schema) -> Obj:
    if DIRECTIVE in patch:
        return _directed(patch)
    merged, patch = _retaining(dict(live), dict(patch))
    for key in [key for key in patch if key.startswith(ORDER)]:
        _merge_ordered(merged, patch, key, schema)
    for key, value in patch.items():
        is_deletion = key.startswith(DELETE)
        name = key.removeprefix(DELETE)
        if value is None:
            merged.pop(name, None)
        elif name not in merged or not _same_type(merged[name], value):
            if not is_deletion:
                _set(merged, name, value)
        elif is_deletion:
            merged[name] = [item for item in merged[name] if item not in value]
        else:
            merged[name] = _merge(merged[name], value, schema.child(name) or ANY)
    return merged


def _set(merged: Obj, name: str, value: Any) -> None:
    plain = _plain(value)
    if plain is not _DROPPED:
        merged[name] = plain


def _merge(live: Any, patch: Any, schema: Schema) -> Any:
    if isinstance(patch, dict):
        return _plain(patch) if "replace" in schema.patch_strategies else _merge_map(live, patch, schema)
    if isinstance(patch, list) and "merge" in schema.patch_strategies:
        return _merge_list(live, patch, schema)
    return _plain(patch) if isinstance(patch, list) else patch


def _merge_list(live: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    _check_alike(live, patch)
    if not any(isinstance(item, dict) for item in [*live, *patch]):
        merged = list(dict.fromkeys([*live, *patch]))
        return _in_order(merged, patch, live, "")
    key = schema.merge_key
    live_left, wanted, replaced = _special(live, patch, key)
    if replaced:
        return wanted
    merged = list(live_left)
    for item in wanted:
        if key not in item:
            raise _no_key(item, key)
        place = _index(merged, item, key)
        if place < 0:
            merged.append(_bare(item))
        else:
            merged[place] = _merge_map(merged[place], item, schema.items)
    return _in_order(merged, wanted, live, key)


def _special(live: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any], bool]:
    """The live items that are not deleted, the patch's that are not directives, and whether those replace all."""
    wanted, replaced = [], False
    for item in patch:
        directive = item.get(DIRECTIVE)
        if directive is None:
            wanted.append(item)
        elif directive == "delete":
            if key not in item:
                raise _no_key(item, key)
            live = [one for one in live if one.get(key) != item[key]]
        elif directive == "replace":
            replaced = True
        else:
            raise _unknown(directive, item)
    return live, wanted, replaced


def _merge_ordered(merged: Obj, patch: Obj, key: str, schema: Schema) -> None:
    """A list whose order the client states; afterwards the patch has no more to say about it."""
    order, name = patch.pop(key), key.removeprefix(ORDER)
    place = schema.child(name) or ANY
    live, wanted = merged.get(name), patch.get(name)
    if not isinstance(live, list) and not isinstance(wanted, list):
        return
    merge_key = place.merge_key
    if isinstance(wanted, list):
        _check_order(wanted, order, merge_key)
    patch.pop(name, None)
    if not isinstance(live, list):
        result = _plain(wanted)
    elif not isinstance(wanted, list):
        result = live
    else:
        result = _merge(live, wanted, place)
    deleted = patch.pop(DELETE + name, None)
    if isinstance(deleted, list):
        result = [item for item in result if item not in deleted]
    merged[name] = _in_order(result, order, live if isinstance(live, list) else [], merge_key)


def _in_order(items: list[Any], order: Sequence[Any], live: Sequence[Any], key: str) -> list[Any]:
    """Those that the order names, in it; the others where they stood in the live list, as far as that can be had."""
    named = sorted((one for one in items if _index(order, one, key) >= 0), key=lambda one: _index(order, one, key))
    others = sorted((one for one in items if _index(order, one, key) < 0), key=lambda one: _index(live, one, key))
    result: list[Any] = []
    while named and others:
        first, second = _index(live, others[0], key), _index(live, named[0], key)
        result.append(others.pop(0) if 0 <= first < second else named.pop(0))
    return [*result, *named, *others]


def _index(items: Sequence[Any], item: Any, key: str) -> int:
    wanted = _key_of(item, key)
    return next((place for place, one in enumerate(items) if _key_of(one, key) == wanted), -1)


def _key_of(item: Any, key: str) -> Any:
    return item.get(key) if key and isinstance(item, dict) else item


def _retaining(live: Obj, patch: Obj) -> tuple[Obj, Obj]:
    if RETAIN not in patch:
        return live, patch
    keys = patch.pop(RETAIN)
    for name, value in patch.items():
        if value is not None and not name.startswith("$") and name not in keys:
            raise bad_request("invalid patch format of retainKeys")
    return {name: value for name, value in live.items() if name in keys}, patch


def _directed(patch: Obj) -> Obj:
    if patch[DIRECTIVE] == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    if patch[DIRECTIVE] == "delete":
        return {}
    raise _unknown(patch[DIRECTIVE], patch)


_DROPPED: Any = object()


def _plain(value: Any) -> Any:
    """What a patch sets where there was nothing: parts with a directive are not for that and fall away."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return _DROPPED
        fields = {name: _plain(inner) for name, inner in value.items() if inner is not None and not _is_word(name)}
        return {name: inner for name, inner in fields.items() if inner is not _DROPPED}
    if isinstance(value, list):
        return [kept for item in value if (kept := _plain(item)) is not _DROPPED]
    return value


def _bare(value: Any) -> Any:
    """A new item of a list: taken as it is, except that the words for patches are no fields."""
    if isinstance(value, dict):
        return {name: _bare(inner) for name, inner in value.items() if inner is not None and not _is_word(name)}
    return [_bare(item) for item in value] if isinstance(value, list) else value


def _is_word(name: str) -> bool:
    return name in (DIRECTIVE, RETAIN) or name.startswith((ORDER, DELETE))


def _check_alike(live: list[Any], patch: list[Any]) -> None:
    if len({_type(item) for item in [*live, *patch]}) > 1:
        raise ApiError(500, "", f"list element types are not identical: [{_go(live)} {_go(patch)}]")


def _check_order(wanted: list[Any], order: list[Any], key: str) -> None:
    kept = [item for item in wanted if not (isinstance(item, dict) and item.get(DIRECTIVE) == "delete")]
    places = [_index(order, item, key) for item in kept]
    if -1 in places or places != sorted(places):
        raise ApiError(
            500,
            "",
            f"The order in patch list:\n{_go(wanted)}\n doesn't match {ORDER.rstrip('/')} list:\n{_go(order)}\n",
        )


def _same_type(one: Any, other: Any) -> bool:
    return _type(one) == _type(other)


def _type(value: Any) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _no_key(item: Any, key: str) -> ApiError:
    return ApiError(500, "", f"map: {_go(item)} does not contain declared merge key: {key}")


def _unknown(directive: Any, item: Any) -> ApiError:
    return ApiError(500, "", f"unknown patch type: {directive} in map: {_go(item)}")


def _go(value: Any) -> str:
    """As the API server's language prints plain data."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{_go(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_go(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
