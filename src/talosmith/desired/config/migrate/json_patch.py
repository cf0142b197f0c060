"""RFC 6902 operations as a strategic merge patch, where each has an equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from talosmith.desired.config.patch.deletion import MARK


class NotMapped(ValueError):
    """An operation that no merge does; the text says why."""

    def __init__(self, path: Sequence[str], why: str) -> None:
        super().__init__(why)
        self.path = tuple(path)


def as_merge(operations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The operations as one v1alpha1 patch. Raises `NotMapped`."""
    made: dict[str, Any] = {}
    for operation in operations:
        path = _path(str(operation.get("path") or ""))
        verb = str(operation.get("op") or "")
        if verb not in ("add", "replace", "remove"):
            raise NotMapped(path, f"a merge has no {verb or 'operation without op'}")
        if not path or path[0] not in ("machine", "cluster", "debug", "persist"):
            raise NotMapped(path, "it changes no field of v1alpha1")
        value: Any = {MARK: "delete"} if verb == "remove" else operation.get("value")
        if path[-1] == "-":
            path, value = path[:-1], [value]
        number = next((part for part in path if part.isdigit()), None)
        if number is not None:
            raise NotMapped(path, f"it goes by the position {number} in a list")
        if verb == "replace" and isinstance(value, dict | list):
            raise NotMapped(path, "a merge adds to what is there instead of replacing it")
        _put(made, path, value)
    return made


def _path(text: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _put(made: dict[str, Any], path: list[str], value: Any) -> None:
    for key in path[:-1]:
        made = made.setdefault(key, {})
        if not isinstance(made, dict):
            raise NotMapped(path, "two operations disagree about what is there")
    old = made.get(path[-1])
    if isinstance(old, list) and isinstance(value, list):
        value = [*old, *value]
    made[path[-1]] = value
