"""Candidates for shell completion, from the generated table of commands: neither typer nor any command is imported.

The shell scripts of `talosmith completion` call `talosmith __complete WORDS…` with the words up to the cursor. An
answer line is `candidate<TAB>description`, or `:files` or `:folders` where the shell completes paths itself.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from talosmith.cli.command_tree import CommandEntry, OptionEntry, find_command

if TYPE_CHECKING:
    from collections.abc import Iterable

Candidates = list[tuple[str, str]]

_FOLDERS = ("FOLDER", "FOLDERS", "DIR")
_FILES = ("FILE", "PLAN")
_GLOBAL = {
    "-v": OptionEntry("", "", [], False, "--verbose"),
    "--verbose": OptionEntry("", "Print API calls and their durations to stderr", [], False, "--verbose"),
    "--log-format": OptionEntry(
        "FORMAT", "Messages on stderr as text or json", ["text", "json"], False, "--log-format"
    ),
    "--help": OptionEntry("", "Print help", [], False, "--help"),
}
_BEFORE = {  # before a command
    "-i": OptionEntry("FOLDER", "", [], False, "--inventory"),
    "--inventory": OptionEntry("FOLDER", "Inventory folder", [], False, "--inventory"),
    "-e": OptionEntry("NAME", "", [], False, "--environment"),
    "--environment": OptionEntry("NAME", "Environment: the folder inventory/NAME/", [], False, "--environment"),
    "-o": OptionEntry("FORMAT", "", ["text", "json", "yaml"], False, "--output"),
    "--output": OptionEntry("FORMAT", "Output format", ["text", "json", "yaml"], False, "--output"),
    "--version": OptionEntry("", "Print talosmith's and the supported versions", [], False, "--version"),
}


def print_candidates(words: list[str]) -> int:
    """Nothing is printed if something goes wrong: a shell that completes has no place for messages."""
    try:
        lines = [f"{value}\t{text}" if text else value for value, text in candidates(words)]
    except Exception:
        return 1
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def candidates(words: list[str]) -> Candidates:
    """For the last word, which may be empty; the words before it stand to its left."""
    *before, current = _joined(words) or [""]
    names, given, waiting = _read(before)
    command, depth = find_command(names)
    known = {**command.options, **_GLOBAL, **({} if depth else _BEFORE)}
    if waiting is not None:
        return _starting(current, _values(waiting.name, waiting.metavar, waiting.choices, given))
    if current.startswith("--") and "=" in current:
        name, _, start = current.partition("=")
        option = known.get(name)
        found = _values(name, option.metavar, option.choices, given) if option else []
        return [
            (f"{name}={value}", text) if value[:1] != ":" else (value, text)
            for value, text in _starting(start, found)
        ]
    if current.startswith("-"):
        return _starting(current, _option_names(known, given))
    if names[:1] == ["help"]:
        command, depth = find_command(names[1:])
        return _starting(current, _command_names(command))
    if command.commands and len(names) > depth:  # after a command that does not exist
        return []
    if command.commands:
        return _starting(current, _command_names(command) + ([("help", "Print help")] if not depth else []))
    return _starting(current, _argument_values(command, names[depth:], given))


def _joined(words: list[str]) -> list[str]:
    """bash splits `--node=cp-1` into three words; a value is completed after them as after `--node `."""
    found: list[str] = []
    for index, word in enumerate(words):
        if word == "=" and found and found[-1].startswith("--"):
            if index == len(words) - 1:
                found.append("")
            continue
        found.append(word)
    return found


def _read(before: list[str]) -> tuple[list[str], dict[str, list[str]], OptionEntry | None]:
    """Words that are no options, the options' values by long name, and the option whose value comes next."""
    names: list[str] = []
    given: dict[str, list[str]] = {}
    waiting: OptionEntry | None = None
    for word in before:
        if waiting is not None:
            given.setdefault(waiting.name, []).append(word)
            waiting = None
            continue
        if not word.startswith("-") or word == "-":
            names.append(word)
            continue
        command, _ = find_command(names)
        name, equals, value = word.partition("=")
        option = {**_BEFORE, **_GLOBAL, **command.options}.get(name)
        if option is None:
            continue
        if equals or not option.metavar:
            given.setdefault(option.name, []).append(value)
        else:
            waiting = option
    return names, given, waiting


def _option_names(known: dict[str, OptionEntry], given: dict[str, list[str]]) -> Candidates:
    """Long names; an option that was given is offered again only if it is repeatable."""
    return [
        (name, option.help)
        for name, option in sorted(known.items())
        if name.startswith("--") and (option.repeatable or option.name not in given)
    ]


def _command_names(command: CommandEntry) -> Candidates:
    return [(name, str(entry.get("summary", ""))) for name, entry in command.commands.items()]


def _argument_values(command: CommandEntry, arguments: list[str], given: dict[str, list[str]]) -> Candidates:
    known = command.arguments
    if not known:
        return []
    place = known[min(len(arguments), len(known) - 1)]
    if len(arguments) >= len(known) and not place.repeatable:
        return []
    return [one for one in _values("", place.metavar, place.choices, given) if one[0] not in arguments]


def _values(name: str, metavar: str, choices: list[str], given: dict[str, list[str]]) -> Candidates:
    if choices:
        return [(choice, "") for choice in choices]
    if metavar in _FOLDERS:
        return [(":folders", "")]
    if metavar in _FILES or name == "--config":
        return [(":files", "")]
    from talosmith.cli.complete_values import looked_up

    return looked_up(name, metavar, given)


def _starting(start: str, found: Iterable[tuple[str, str]]) -> Candidates:
    return [one for one in found if one[0].startswith(start) or one[0][:1] == ":"]
