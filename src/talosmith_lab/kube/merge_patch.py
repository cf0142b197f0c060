"""JSON merge patches (RFC 7386): nothing is changed in place."""

from __future__ import annotations

from typing import Any


def merge_patch(obj: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(obj) if isinstance(obj, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
