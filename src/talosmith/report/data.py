"""Anything of the model as plain data, for `-o json` and `-o yaml`. Secrets stay `***`."""

from __future__ import annotations

import dataclasses
import json
import re
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from talosmith.errors import Problem
from talosmith.report import problems

API_VERSION = "talosmith.dev/v1"  # changed when a field is removed, renamed or changes its meaning; not for additions

# JSON lets these stand as they are; terminals act on them.
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(value: Any) -> Any:
    """Dicts, lists, text, numbers, booleans and None; any other value becomes its text."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    for kind in (str, int, float):  # YAML cannot write values of subclasses, such as keys of steps
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Problem):
        return problems.as_data(value)
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and type(value).__str__ is object.__str__:
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return rfc3339(value)
    return str(value)


def rfc3339(at: float | datetime | None) -> str | None:
    """A time as all outputs have it: UTC, with milliseconds; None stays null."""
    if at is None:
        return None
    time = at.astimezone(UTC) if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def envelope(kind: str, data: Any) -> dict[str, Any]:
    """Every output of a command is one object that names its schema: a reader can tell versions and kinds apart."""
    fields = plain(data)
    if not isinstance(fields, dict) or not fields.keys().isdisjoint(("apiVersion", "kind")):
        raise TypeError(f"output of kind {kind} is not an object, or has an apiVersion or kind of its own")
    return {"apiVersion": API_VERSION, "kind": kind, **_null_for_empty(fields)}


def _null_for_empty(value: Any) -> Any:
    """Inside the program empty text means that there is none; in the output that is null.

    Lines of text in a list stay as they are.
    """
    if isinstance(value, dict):
        return {key: None if item == "" else _null_for_empty(item) for key, item in value.items()}
    return [_null_for_empty(item) for item in value] if isinstance(value, list) else value


def as_json(data: Any) -> str:
    text = json.dumps(plain(data), indent=2, ensure_ascii=False)
    return _INVISIBLE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def as_yaml(data: Any) -> str:
    import yaml

    text: str = yaml.safe_dump(plain(data), sort_keys=False, allow_unicode=True, width=1000)
    return text.rstrip("\n")
