"""The fields in which an object differs from what is wanted, each with its value before and after, for the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from talosmith import kube as api
from talosmith.kube.diff import HIDDEN, shown_parts
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
