"""Writes TOML as the template function `toToml` does: values first, then tables, each level two blanks deeper."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from talosmith.helm.go_text import float_text

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(value: Any) -> str:
    if not isinstance(value, Mapping):
        raise TypeError("only a map can be written as TOML")
    out: list[str] = []
    _table(value, [], out)
    return "".join(out)


def _table(table: Mapping[str, Any], path: list[str], out: list[str]) -> None:
    pad = "  " * len(path)
    inner = [(key, table[key]) for key in sorted(table)]
    out.extend(
        f"{pad}{_key(key)} = {_value(value)}\n" for key, value in inner if not _is_table(value) and value is not None
    )
    for key, value in inner:
        if not _is_table(value):
            continue
        name = [*path, key]
        lead = "  " * (len(name) - 1)
        for part in value if isinstance(value, list) else [value]:
            if out and len(name) == 1:
                out.append("\n")
            brackets = ("[[", "]]") if isinstance(value, list) else ("[", "]")
            out.append(f"{lead}{brackets[0]}{'.'.join(map(_key, name))}{brackets[1]}\n")
            _table(part, name, out)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)
    )


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = float_text(value)
        return text if "." in text or "e" in text or "n" in text.lower() else f"{text}.0"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(value[key])}" for key in sorted(value)) + "}"
    return json.dumps(str(value), ensure_ascii=False)
