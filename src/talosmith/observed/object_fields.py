"""The fields in which an object differs from what is wanted, each with its value before and after, for the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from talosmith import kube as api
from talosmith.desired.addon_secrets import hide, hide_all
from talosmith.kube.diff import HIDDEN, difference, shown_parts
from talosmith.model.resources import SettingChange

_LONGEST = 120  # characters of a value; the rest is for `talosmith addons diff`


def changed_fields(change: api.Change) -> tuple[SettingChange, ...]:
    """Named by object and path: `Deployment kube-system/coredns spec.replicas`. Values of Secrets are masked."""
    if change.outcome != "changed" or change.before is None or change.after is None:
        return ()
    secret = change.ref.kind == "Secret"
    before, after = shown_parts(change.before), shown_parts(change.after)
    return tuple(
        SettingChange(
            f"{change.ref} {path}",
            HIDDEN if secret and old is not None else _short(old),
            HIDDEN if secret and new is not None else _short(new),
            masked=secret,
        )
        for path, old, new in _differences(before, after, "")
    )


def without_secrets(change: api.Change, hidden: frozenset[str]) -> api.Change:
    """The change with these secrets masked; also the earlier value of a field that holds one now: it may be one."""
    if change.before is None or change.after is None:
        return replace(change, diff=hide(change.diff, hidden))
    before, after = _masked_pair(change.before, change.after, hidden)
    return replace(change, before=before, after=after, diff=difference(before, after) if change.diff else "")


def _masked_pair(before: Any, after: Any, hidden: frozenset[str]) -> tuple[Any, Any]:
    if isinstance(after, Mapping):
        old = before if isinstance(before, Mapping) else {}
        pairs = {key: _masked_pair(old.get(key), value, hidden) for key, value in after.items()}
        rest = {key: hide_all(value, hidden) for key, value in old.items() if key not in after}
        shown = {**{key: pairs[key][0] for key in old if key in pairs}, **rest}
        return (shown if isinstance(before, Mapping) else before), {key: pair[1] for key, pair in pairs.items()}
    if isinstance(after, list) and isinstance(before, list) and len(before) == len(after):
        items = [_masked_pair(old, new, hidden) for old, new in zip(before, after, strict=True)]
        return [one[0] for one in items], [one[1] for one in items]
    masked = hide_all(after, hidden)
    if masked == after:
        return hide_all(before, hidden), after
    return (masked if before == after else f"{HIDDEN} (another value)" if before is not None else None), masked


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            yield from _differences(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences(old, new, f"{path}[{_name(old, number)}]")
    else:
        yield path, before, after


def _name(item: Any, number: int) -> str:
    """Of a list's entry: containers and ports are known by their names."""
    return str(item["name"]) if isinstance(item, Mapping) and item.get("name") else str(number)


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]}… ({len(value)} characters)"
    return value
