"""Commands, options and arguments as a generated table: what completion and hints need without importing commands.

`tools/command_tree.py` writes it; a test compares it with the commands themselves.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("command_tree.json")


class OptionEntry(NamedTuple):
    metavar: str  # empty: a flag
    help: str
    choices: list[str]
    repeatable: bool
    name: str  # the long name


class ArgumentEntry(NamedTuple):
    metavar: str
    choices: list[str]
    repeatable: bool


class CommandEntry:
    """One command or group."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.summary: str = data.get("summary", "")
        self.commands: dict[str, dict[str, Any]] = data.get("commands", {})
        self.arguments = [ArgumentEntry(*one) for one in data.get("arguments", ())]
        self.options: dict[str, OptionEntry] = {}
        for names, metavar, text, choices, repeatable in data.get("options", ()):
            for name in names:
                self.options[name] = OptionEntry(metavar, text, choices, repeatable, names[-1])


@cache
def tree() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def find_command(words: list[str]) -> tuple[CommandEntry, int]:
    """The command that the first words name, and how many of them do."""
    here, depth = tree(), 0
    for word in words:
        inner = here.get("commands", {}).get(word)
        if inner is None:
            break
        here, depth = inner, depth + 1
    return CommandEntry(here), depth
