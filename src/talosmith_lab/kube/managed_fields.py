"""Who set which field of an object: server-side apply, and the bookkeeping of every other write.

An owner is known by its name, whether it applied or updated, the subresource it wrote to and, if it updated, the
version it used. Applying takes away what the owner no longer mentions and nobody else owns; it is refused where
another owner's field would get another value, unless it is forced.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache

from talosmith_lab.kube.defaults import fill_defaults
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.field_check import typed_problems
from talosmith_lab.kube.kinds import builtin
from talosmith_lab.kube.managed_fields_owners import (
    APPLY,
    UPDATE,
    FieldConflicts,
    Owner,
    Share,
    Shares,
    capped,
    shares_of,
    with_shares,
    without_managed,
)
from talosmith_lab.kube.managed_fields_paths import Path, Paths, with_named_parents
from talosmith_lab.kube.managed_fields_values import Difference, compare, field_set, merge, remove
from talosmith_lab.kube.normal import normalized, zero
from talosmith_lab.kube.schema import Obj, Schema

__all__ = ["FieldConflicts", "server_side_apply", "track", "unwritable"]

BEFORE_FIRST_APPLY = "before-first-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"

# What belongs to the system and to nobody else.
_NEVER_OWNED = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    }
)


_STATUS: Path = ("f:status",)
_SPEC: Path = ("f:spec",)
# What else stays as it is when the status is written.
_NOT_WITH_STATUS: dict[str, tuple[Path, ...]] = {
    "Deployment": (("f:metadata", "f:labels"),),
    "APIService": (("f:metadata",),),
}


def unwritable(obj: Obj, subresource: str, has_status: bool | None = None) -> tuple[Path, ...]:
    """What a client cannot write at an object, or at a subresource of it, and so does not own.

    `has_status` says whether a custom kind has its status apart; of builtin kinds it is known.
    """
    kind = (obj["apiVersion"], obj["kind"])
    if subresource == "status":
        if kind in _builtin_kinds():
            return (_SPEC, *_NOT_WITH_STATUS.get(obj["kind"], ()))
        return tuple((f"f:{name}",) for name in {*obj, "metadata", "spec"} if name != "status")
    if has_status is None:
        has_status = _builtin_kinds().get(kind, False)
    return (_STATUS,) if has_status else ()


@cache
def _builtin_kinds() -> Mapping[tuple[str, str], bool]:
    """And whether they have a status of its own."""
    return {(kind.api_version, kind.kind): kind.has_status for kind in builtin()}


def server_side_apply(
    live: Obj | None,
    applied: Obj,
    *,
    manager: str,
    force: bool,
    schema: Schema,
    now: str,
    subresource: str = "",
    ignored: Iterable[Path] | None = None,
) -> Obj:
    """The object after an apply, defaulted; raises `FieldConflicts`.

    `ignored` are fields that cannot be written there; for builtin kinds they are known.
    """
    reset = tuple(unwritable(applied, subresource) if ignored is None else ignored)
    _check_typed(applied, schema)
    config = {**applied, "metadata": without_managed(applied.get("metadata") or {})}
    before = zero(applied, schema) if live is None else live
    shares = shares_of(before)
    if live is not None and not shares:
        first = Owner(BEFORE_FIRST_APPLY, UPDATE, live["apiVersion"], "")
        shares = _updated(zero(live, schema), live, shares, first, schema, now, ())
    owner = Owner(manager, APPLY, "", subresource)
    try:
        after, shares = _applied(before, config, shares, owner, force, schema, now, reset)
    except FieldConflicts as conflicts:
        allowed = _set_by_last_applied(before, schema) if manager == _KUBECTL else frozenset()
        left = [one for one in conflicts.found if one[1] not in allowed]
        if left:
            raise FieldConflicts(left) from None
        after, shares = _applied(before, config, shares, owner, True, schema, now, reset)
    if manager == _KUBECTL and LAST_APPLIED in (before["metadata"].get("annotations") or {}):
        annotations = {**(after["metadata"].get("annotations") or {}), LAST_APPLIED: _last_applied(config)}
        after = {**after, "metadata": {**after["metadata"], "annotations": annotations}}
    return _times_kept(live, with_shares(fill_defaults(normalized(after, schema)), shares))


def _check_typed(applied: Obj, schema: Schema) -> None:
    problems = typed_problems(applied, schema)
    if not problems:
        return
    metadata = applied.get("metadata") or {}
    version = applied["apiVersion"] if "/" in applied["apiVersion"] else f"/{applied['apiVersion']}"
    where = f"({metadata.get('namespace', '')}/{metadata.get('name', '')}; {version}, Kind={applied['kind']})"
    what = problems[0] if len(problems) == 1 else "errors:\n  " + "\n  ".join(problems)
    raise ApiError(500, "", f"failed to create typed patch object {where}: {what}")


def track(
    before: Obj | None,
    after: Obj,
    *,
    manager: str,
    schema: Schema,
    now: str,
    subresource: str = "",
    ignored: Iterable[Path] | None = None,
) -> Obj:
    """The object after a create, update or patch, with who set what brought up to date."""
    reset = tuple(unwritable(after, subresource) if ignored is None else ignored)
    stated = (after.get("metadata") or {}).get("managedFields")
    shares = shares_of(before) if before is not None else {}
    if stated is not None and not subresource:
        own = shares_of(after)
        if (stated == [] and before is not None and before["metadata"].get("managedFields")) or stated == [{}]:
            shares = {}
        elif own:
            shares = own
    old = zero(after, schema) if before is None else before
    if not shares and before is not None:
        return _without(after)  # an object whose owners are not tracked stays so until somebody applies
    owner = Owner(manager, UPDATE, after["apiVersion"], subresource)
    shares = _updated(old, after, shares, owner, schema, now, reset)
    return _times_kept(before, with_shares(_without(after), capped(shares)))


def _applied(
    live: Obj,
    config: Obj,
    shares: Shares,
    owner: Owner,
    force: bool,
    schema: Schema,
    now: str,
    ignored: tuple[Path, ...],
) -> tuple[Obj, Shares]:
    shares = dict(shares)
    old = _without(live)
    merged = merge(old, config, schema)
    last = shares[owner].fields if owner in shares else frozenset()
    fields = field_set(config, schema)
    shares[owner] = Share(fields, config["apiVersion"], now)
    new = _pruned(merged, last, shares, schema)
    difference = compare(old, new, schema).without(ignored)
    shares, conflicts = _settled(shares, owner, difference)
    if conflicts and not force:
        raise FieldConflicts(conflicts)
    shares[owner] = Share(_owned(fields, ignored), config["apiVersion"], now)
    if not shares[owner].fields:
        del shares[owner]
    return new, shares


def _pruned(merged: Obj, last: Paths, shares: Shares, schema: Schema) -> Obj:
    """Without what the owner had, has no more, and nobody else has."""
    if not last:
        return merged
    everything = with_named_parents(field_set(merged, schema), schema)
    last = with_named_parents(last, schema)
    pruned = remove(merged, last, schema) or {}
    for version in {share.version for share in shares.values()}:
        owned: set[Path] = set()
        for share in shares.values():
            if share.version == version:
                owned |= share.fields
        left = with_named_parents(field_set(pruned, schema), schema) | with_named_parents(owned, schema)
        pruned = remove(merged, everything - left, schema) or {}
    left = with_named_parents(field_set(pruned, schema), schema)
    return remove(merged, (everything - left) & last, schema) or {}


def _updated(
    old: Obj, new: Obj, shares: Shares, owner: Owner, schema: Schema, now: str, ignored: tuple[Path, ...]
) -> Shares:
    difference = compare(_without(old), _without(new), schema).without(ignored)
    shares, _ = _settled(shares, None, difference)
    taken = _owned(frozenset(difference.added | difference.modified), ())
    if taken:
        before = shares[owner].fields if owner in shares else frozenset()
        shares[owner] = Share(before | taken, owner.version, now)
    return shares


def _settled(shares: Shares, owner: Owner | None, difference: Difference) -> tuple[Shares, list[tuple[Owner, Path]]]:
    """What the others keep after a change, and where they are run over."""
    changed = difference.added | difference.modified
    conflicts: list[tuple[Owner, Path]] = []
    kept: Shares = {}
    for other, share in shares.items():
        left = share.fields
        if other != owner:
            lost = left & changed
            conflicts += [(other, path) for path in lost]
            left = left - lost - difference.removed
        if left:
            kept[other] = Share(left, share.version, share.time)
    return kept, conflicts


def _owned(fields: Paths, ignored: tuple[Path, ...]) -> Paths:
    return frozenset(
        path
        for path in fields
        if path not in _NEVER_OWNED and not any(path[: len(prefix)] == prefix for prefix in ignored)
    )


def _times_kept(before: Obj | None, after: Obj) -> Obj:
    """A write that changes nothing but the times of ownership does not change those either."""
    if before is None:
        return after
    old, new = before["metadata"].get("managedFields"), after["metadata"].get("managedFields")
    if not old or not new or _without(before) != _without(after) or _timeless(old) != _timeless(new):
        return after
    return {**after, "metadata": {**after["metadata"], "managedFields": old}}


def _timeless(entries: list[Obj]) -> list[Obj]:
    bare = [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
    return sorted(bare, key=lambda entry: json.dumps(entry, sort_keys=True))


def _without(obj: Obj) -> Obj:
    return {**obj, "metadata": without_managed(obj.get("metadata") or {})}


def _set_by_last_applied(live: Obj, schema: Schema) -> Paths:
    """What kubectl's client-side apply has set and nobody changed since: its server-side apply may take that."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return frozenset()
    config = json.loads(text)
    difference = compare(config, _without(live), schema)
    return field_set(config, schema) - difference.modified - difference.removed


def _last_applied(config: Obj) -> str:
    metadata = without_managed(config["metadata"])
    annotations = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != LAST_APPLIED}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    text = json.dumps({**config, "metadata": metadata}, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") + "\n"
