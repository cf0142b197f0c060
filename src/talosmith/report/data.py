"""Anything of the model as plain data, for `-o json` and `-o yaml`. Secrets stay `***`."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from pydantic import BaseModel

# JSON lets these stand as they are; terminals act on them.
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(value: Any) -> Any:
    """Dicts, lists, text, numbers, booleans and None; what else there is becomes its text."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and type(value).__str__ is object.__str__:
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return str(value)


def as_json(data: Any) -> str:
    text = json.dumps(plain(data), indent=2, ensure_ascii=False)
    return _INVISIBLE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def as_yaml(data: Any) -> str:
    import yaml

    text: str = yaml.safe_dump(plain(data), sort_keys=False, allow_unicode=True, width=1000)
    return text.rstrip("\n")
