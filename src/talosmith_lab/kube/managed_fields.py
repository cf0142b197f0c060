"""Who set which field of an object: server-side apply, and what other writes change about it.

An owner is a name, whether it applied or updated, and the subresource it wrote to. Applying removes what the owner
no longer mentions and no other owner has; it is refused where another owner's field would get another value, unless
it is forced. Fields are paths such as `("f:spec", 'k:{"name":"web"}', "f:image")`, the elements of `fieldsV1`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.lists import is_set, key_of, merge_keys

APPLY, UPDATE = "Apply", "Update"
_KUBECTL = ("kubectl", "kubectl-client-side-apply")  # the second hands its fields over to the first
Path = tuple[str, ...]

_UNOWNED = frozenset(
    ("name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink",
     "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields")
)  # fmt: skip
_ABSENT: Any = object()


class Owner(NamedTuple):
    manager: str
    operation: str
    subresource: str = ""


class Share(NamedTuple):
    fields: frozenset[Path]
    version: str
    time: str


Shares = dict[Owner, Share]


class FieldConflicts(Exception):
    """Fields that other owners have with other values."""

    def __init__(self, found: list[tuple[Owner, str, Path]]) -> None:
        self.causes: list[Obj] = []
        lines: dict[str, list[str]] = {}
        for owner, version, path in sorted(found):
            part = f' with subresource "{owner.subresource}"' if owner.subresource else ""
            using = f" using {version}" if owner.operation == UPDATE else ""
            who = f'"{owner.manager}"{part}{using}'
            lines.setdefault(who, []).append(readable(path))
            why = f"conflict with {who}"
            self.causes.append({"reason": "FieldManagerConflict", "message": why, "field": readable(path)})
        if len(found) == 1:
            told = "1 conflict: " + "".join(f"conflict with {who}: {paths[0]}" for who, paths in lines.items())
        else:
            listed = [f"conflicts with {who}:" + "".join(f"\n- {path}" for path in at) for who, at in lines.items()]
            told = f"{len(found)} conflicts: " + "\n".join(listed)
        super().__init__(f"Apply failed with {told}")


def server_side_apply(
    live: Obj | None, applied: Obj, *, manager: str, force: bool, now: str, part: str = "", custom: bool = False
) -> Obj:
    """The object after an apply; raises `FieldConflicts`."""
    config = {**applied, "metadata": {k: v for k, v in applied["metadata"].items() if k != "managedFields"}}
    before = live or {"apiVersion": applied["apiVersion"], "kind": applied["kind"], "metadata": {}}
    owner, known = Owner(manager, APPLY, part), shares_of(before)
    values = leaves(config, custom=custom, part=part)
    there = leaves(before, custom=custom, part=part)
    if there and not known:
        known[Owner("before-first-apply", UPDATE)] = Share(frozenset(there), before["apiVersion"], now)
    others = {one: share for one, share in known.items() if one != owner}
    conflicts = [
        (one, share.version, path)
        for one, share in others.items()
        if (manager, one.manager) != _KUBECTL
        for path in share.fields
        if path in values and there.get(path, _ABSENT) != values[path]
    ]
    if conflicts and not force:
        raise FieldConflicts(conflicts)
    taken = {path for _, _, path in conflicts}
    shares = {one: share._replace(fields=share.fields - taken) for one, share in others.items()}
    kept = _with_parents(path for share in shares.values() for path in share.fields) | _with_parents(values)
    last = _with_parents(known[owner].fields) if owner in known else set()
    merged = merge(before, config, custom=custom)
    for path in sorted(last - kept - {("f:metadata",)}, key=len):
        remove(merged, path, custom=custom)
    mine = Share(frozenset(values), applied["apiVersion"], now)
    in_order = {one: shares.get(one, mine) for one in known}  # else an apply would always change something
    return with_shares(merged, {**in_order, owner: mine}, before)


def track(before: Obj | None, after: Obj, *, manager: str, now: str, part: str = "", custom: bool = False) -> Obj:
    """The object after a create, update or patch, with who set what brought up to date."""
    stated = after["metadata"].get("managedFields")
    source = before if before is not None and (stated is None or part) else after
    shares = {} if stated == [{}] else shares_of(source) if before is not None else {}
    old = leaves(before, custom=custom, part=part) if before is not None else {}
    new = leaves(after, custom=custom, part=part)
    changed = {path for path, value in new.items() if old.get(path, _ABSENT) != value}
    gone = old.keys() - new.keys()
    owner = Owner(manager, UPDATE, part)
    if changed or gone:
        shares = {one: share._replace(fields=share.fields - gone - changed) for one, share in shares.items()}
    if changed:
        mine = shares[owner].fields if owner in shares else frozenset()
        shares[owner] = Share(mine | changed, after["apiVersion"], now)
    return with_shares(after, shares, before)


# Fields


def leaves(obj: Obj, *, custom: bool, part: str) -> dict[Path, Any]:
    """What can be owned of the object, or of the part of it that is written, with its values."""
    found: dict[Path, Any] = {}
    for name, value in obj.items():
        if name in ("apiVersion", "kind") or (name == "status") != (part in ("status", "approval")):
            continue
        inner = {key: one for key, one in value.items() if key not in _UNOWNED} if name == "metadata" else value
        if name != "metadata" or inner:
            found.update(_leaves(inner, (f"f:{name}",), custom))
    return found


def _leaves(value: Any, at: Path, custom: bool) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*at, f"f:{name}"), custom)
        return
    if isinstance(value, list) and value:
        name = at[-1].removeprefix("f:")
        keys = merge_keys(name, value, custom=custom)
        if is_set(name):
            yield from (((*at, f"v:{json.dumps(item)}"), item) for item in value)
            return
        if keys:
            for item in value:
                element = (*at, f"k:{_text(key_of(item, keys))}")
                yield (*element, "."), True
                yield from _leaves(item, element, custom)
            return
    yield at, value


def _text(key: Obj) -> str:
    return json.dumps(key, separators=(",", ":"), sort_keys=True)


def readable(path: Path) -> str:
    """As conflicts name a field: `.spec.containers[name="web"].image`."""
    text = ""
    for element in path:
        mark, _, rest = element.partition(":")
        if mark == "f":
            text += f".{rest}"
        elif mark == "k":
            text += "[" + ",".join(f"{name}={json.dumps(one)}" for name, one in json.loads(rest).items()) + "]"
        elif mark == "v":
            text += f"[={rest}]"
    return text


def _with_parents(paths: Iterable[Path]) -> set[Path]:
    return {path[:end] for path in paths for end in range(1, len(path) + 1)}


def merge(live: Any, applied: Any, *, name: str = "", custom: bool) -> Any:
    """What is applied on top of what is there."""
    if isinstance(live, dict) and isinstance(applied, dict):
        merged = dict(live)
        for key, value in applied.items():
            merged[key] = merge(live.get(key), value, name=key, custom=custom)
        return merged
    if isinstance(live, list) and isinstance(applied, list):
        if is_set(name):
            return list(dict.fromkeys([*live, *applied]))
        keys = merge_keys(name, [*live, *applied], custom=custom)
        if keys:
            return _merged_items(live, applied, keys, custom)
    return json.loads(json.dumps(applied))


def _merged_items(live: list[Obj], applied: list[Obj], keys: tuple[str, ...], custom: bool) -> list[Obj]:
    wanted = {_text(key_of(item, keys)): item for item in applied}
    merged = []
    for item in live:
        change = wanted.pop(_text(key_of(item, keys)), None)
        merged.append(item if change is None else merge(item, change, custom=custom))
    return [*merged, *wanted.values()]


def remove(value: Any, path: Path, *, name: str = "", custom: bool) -> None:
    """Delete what is at a path, if it is there."""
    mark, _, rest = path[0].partition(":")
    if mark == "f" and isinstance(value, dict) and rest in value:
        if len(path) == 1:
            del value[rest]
        else:
            remove(value[rest], path[1:], name=rest, custom=custom)
    elif mark == "v" and isinstance(value, list):
        value[:] = [item for item in value if item != json.loads(rest)]
    elif mark == "k" and isinstance(value, list):
        keys = merge_keys(name, value, custom=custom)
        found = [item for item in value if _text(key_of(item, keys)) == rest]
        if len(path) == 1:
            value[:] = [item for item in value if item not in found]
        for item in found if len(path) > 1 and path[1] != "." else ():
            remove(item, path[1:], custom=custom)


# As objects carry it


def shares_of(obj: Obj) -> Shares:
    found: Shares = {}
    for entry in obj["metadata"].get("managedFields") or ():
        if entry.get("manager"):
            owner = Owner(entry["manager"], entry["operation"], entry.get("subresource", ""))
            fields = frozenset(_read(entry.get("fieldsV1") or {}))
            found[owner] = Share(fields, entry.get("apiVersion", ""), entry.get("time", ""))
    return found


def _read(tree: Obj, at: Path = ()) -> Iterator[Path]:
    for element, below in tree.items():
        if element == "." and at and not at[-1].startswith("k:"):
            continue
        yield from _read(below, (*at, element)) if below else ((*at, element),)


def with_shares(obj: Obj, shares: Shares, before: Obj | None) -> Obj:
    """The object with its owners; the time of an owner whose fields are the same stays."""
    known = shares_of(before) if before is not None else {}
    entries = []
    for owner, share in shares.items():
        if not share.fields:
            continue
        same = owner in known and known[owner].fields == share.fields
        entry = {"manager": owner.manager, "operation": owner.operation, "apiVersion": share.version}
        entry |= {"time": known[owner].time if same else share.time, "fieldsType": "FieldsV1"}
        entry["fieldsV1"] = _written(share.fields)  # type: ignore[assignment]
        entries.append({**entry, **({"subresource": owner.subresource} if owner.subresource else {})})
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": {**metadata, **({"managedFields": entries} if entries else {})}}


def _written(fields: Iterable[Path]) -> Obj:
    tree: Obj = {}
    for path in sorted(fields):
        place = tree
        for element in path:
            place = place.setdefault(element, {})
    return tree
