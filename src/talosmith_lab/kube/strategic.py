"""Strategic merge patches, as `kubectl apply`, `label`, `cordon`, `set` and `rollout` send them.

`$patch: delete | replace` is in a map or in an item of a list; `$setElementOrder/<list>` gives the order that the
client wants, `$deleteFromPrimitiveList/<list>` what to remove, `$retainKeys` all keys that may stay.
"""

from __future__ import annotations

from typing import Any

from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.lists import is_set, merge_keys

DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def strategic_merge(live: Obj, patch: Obj) -> Obj:
    """A new object; neither of the two is changed."""
    directive = patch.get(DIRECTIVE)
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    if directive == "delete":
        return {}
    if directive is not None:
        raise ApiError(500, "", f"unknown patch type: {directive}")
    kept = patch.get(_RETAIN)
    merged = {name: value for name, value in live.items() if kept is None or name in kept}
    for name, value in patch.items():
        if name.startswith(_DELETE):
            place = name.removeprefix(_DELETE)
            merged[place] = [item for item in merged.get(place) or () if item not in value]
        elif name.startswith("$"):
            continue
        elif value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            before = merged.get(name)
            merged[name] = strategic_merge(before if isinstance(before, dict) else {}, value)
        elif isinstance(value, list):
            merged[name] = _merged_list(name, merged.get(name) or [], value)
        else:
            merged[name] = value
    for name, order in patch.items():
        if name.startswith(_ORDER) and name.removeprefix(_ORDER) in merged:
            place = name.removeprefix(_ORDER)
            merged[place] = _ordered(place, merged[place], order)
    return merged


def _merged_list(name: str, live: list[Any], patch: list[Any]) -> list[Any]:
    if is_set(name):
        return list(dict.fromkeys([*live, *patch]))
    is_replaced = any(isinstance(item, dict) and item.get(DIRECTIVE) == "replace" for item in patch)
    wanted = [item for item in patch if not (isinstance(item, dict) and item.get(DIRECTIVE) == "replace")]
    keys = merge_keys(name, [*live, *wanted])
    if is_replaced or not keys:
        return [strategic_merge({}, item) if isinstance(item, dict) else item for item in wanted]
    key, merged = keys[0], list(live)
    for item in wanted:
        place = next((at for at, one in enumerate(merged) if one[key] == item[key]), None)
        if item.get(DIRECTIVE) == "delete":
            merged = [one for one in merged if one[key] != item[key]]
        elif place is None:
            merged.append(strategic_merge({}, item))
        else:
            merged[place] = strategic_merge(merged[place], item)
    return merged


def _ordered(name: str, items: list[Any], order: list[Any]) -> list[Any]:
    """Those that the order names, in it; what it does not name comes last."""
    keys = merge_keys(name, [*items, *order])
    marks = [one[keys[0]] if keys else one for one in order]

    def place(item: Any) -> int:
        mark = item[keys[0]] if keys else item
        return marks.index(mark) if mark in marks else len(marks)

    return sorted(items, key=place)
