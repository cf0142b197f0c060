"""How an object would change, for people to read: without what only the server writes, and without secrets."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import yaml

from talosmith.kube.objects import Object

HIDDEN = "***"
CHANGED = "*** (another value)"
_SERVERS_OWN = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # holds the whole object again, secrets too


def difference(before: Object | None, after: Object | None) -> str:
    """A unified diff of the two as YAML; empty if they are the same."""
    left, right = _hidden_pair(shown_parts(before), shown_parts(after))
    lines = difflib.unified_diff(_text(left), _text(right), "live", "wanted", lineterm="", n=3)
    return "\n".join(lines)


def same(before: Object, after: Object) -> bool:
    """Whether only the server's own notes differ, if anything."""
    return shown_parts(before) == shown_parts(after)


def shown_parts(item: Object | None) -> dict[str, Any]:
    """The object without what only the server writes."""
    if item is None:
        return {}
    meta = {key: value for key, value in (item.get("metadata") or {}).items() if key not in _SERVERS_OWN}
    notes = {key: value for key, value in (meta.pop("annotations", None) or {}).items() if key != _LAST_APPLIED}
    if notes:
        meta["annotations"] = notes
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": meta}


def masked(item: Object) -> dict[str, Any]:
    """The object with the values of a Secret as stars."""
    return _hidden_pair(dict(item), {})[0]


def _hidden_pair(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values of Secrets as stars, so that one that differs still shows as differing."""
    if "Secret" not in (before.get("kind"), after.get("kind")):
        return before, after
    before, after = dict(before), dict(after)
    for field in ("data", "stringData"):
        old, new = before.get(field), after.get(field)
        if isinstance(old, Mapping):
            before[field] = dict.fromkeys(old, HIDDEN)
        if isinstance(new, Mapping):
            known = old if isinstance(old, Mapping) else {}
            after[field] = {key: CHANGED if known.get(key, value) != value else HIDDEN for key, value in new.items()}
    return before, after


def _text(item: dict[str, Any]) -> list[str]:
    return yaml.safe_dump(item, sort_keys=True, allow_unicode=True, width=1000).splitlines() if item else []
