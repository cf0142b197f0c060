"""Options that are strings of properties (`virtio=BC:24:11:00:00:01,bridge=vmbr0`): reading, checking, writing."""

from __future__ import annotations

from collections.abc import Mapping

from .schema import UNKNOWN, Malformed, Param, formatted


def split(text: str, default: str = "") -> dict[str, str]:
    """A part without a name is the value of the `default` property."""
    parts: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, separator, value = part.partition("=")
        if separator:
            parts[name] = value
        elif default:
            parts[default] = part
        else:
            raise Malformed("value without key, but schema does not define a default key")
    return parts


def join(parts: Mapping[str, str], default: str = "") -> str:
    """The default property first, the others by name."""
    first = [parts[default]] if default in parts else []
    return ",".join(first + [f"{name}={parts[name]}" for name in sorted(parts) if name != default])


def properties(option: str, table: Mapping[str, Param], default: str = "", max_length: int | None = None) -> Param:
    """A parameter that is a string of the properties of a table."""

    def check(text: str) -> None:
        problems = _problems(option, split(text, default), table)
        if problems:
            raise Malformed("format error\n" + "\n".join(problems))

    return formatted(check, max_length=max_length)


def _problems(option: str, parts: Mapping[str, str], table: Mapping[str, Param]) -> list[str]:
    problems = []
    for name, value in parts.items():
        if name not in table:
            problems.append(f"{option}.{name}: {UNKNOWN}")
            continue
        try:
            table[name].read(value)
        except Malformed as problem:
            problems.append(f"{option}.{name}: {problem}")
    return problems
