"""How this package says what is wrong with a document or a patch: where, and in which field."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith.errors import InventoryError, Problem

Path = tuple[str | int, ...]


class ConfigError(InventoryError):
    """Documents or patches that Talos would refuse; carries every problem found."""


class Refusal(Exception):
    """What a merge or a delete stumbles over; the caller, which knows the source, makes a `ConfigError` of it."""

    def __init__(self, path: Path, what: str, line: int = 0) -> None:
        super().__init__(f"{dotted(path)}: {what}" if path else what)
        self.path = path
        self.line = line


def dotted(path: Path) -> str:
    """`machine.network.interfaces[0].mtu`"""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part and all(character.isalnum() or character in "-_" for character in part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def fail(what: str, source: str, line: int = 0, *, fix: str = "") -> ConfigError:
    return ConfigError([Problem("error", what, fix=fix, file=source, line=line)])


def fail_all(problems: Iterable[Refusal], source: str) -> ConfigError:
    return ConfigError([Problem("error", str(one), file=source, line=one.line) for one in problems])
