"""`fix:` lines that work when they are pasted: commands in them carry the -i and -e of the command that printed them.

The code that reports a problem does not know how the inventory was chosen; this module does.
"""

from __future__ import annotations

import re
import shlex

from talosmith.cli.arguments import value_of

_COMMAND = re.compile(r"\btalosmith((?: [a-z][a-z-]*)+)([^`;,()\n]*)")
_given: tuple[tuple[str, str, str], ...] = ()  # short name, long name, value


def remember(argv: list[str]) -> None:
    global _given
    options = (("-i", "--inventory"), ("-e", "--environment"))
    found = ((short, long, value_of(argv, short, long)) for short, long in options)
    _given = tuple(one for one in found if one[2])


def pasteable(text: str) -> str:
    """A hint with the given -i and -e in each command that accepts them and has none."""
    return _COMMAND.sub(_completed, text) if _given and "talosmith " in text else text


def fixes_pasteable(text: str) -> str:
    """The same for the `fix:` parts of a longer text."""
    if not _given or "fix:" not in text:
        return text
    lines = (line.partition("fix:") for line in text.split("\n"))
    return "\n".join(f"{before}{fix}{pasteable(after)}" for before, fix, after in lines)


def _completed(found: re.Match[str]) -> str:
    from talosmith.cli.command_tree import find_command

    words = found[1].split()
    command, depth = find_command(words)
    if not depth or words[0] == "lab":  # hints about labs name the lab
        return found[0]
    rest = [*words[depth:], *found[2].split()]
    added = [
        word
        for short, long, value in _given
        if long in command.options and not any(one.partition("=")[0] in (short, long) for one in rest)
        for word in (short, value)
    ]
    path = " ".join(["talosmith", *words[:depth]])
    after = "".join(f" {word}" for word in words[depth:]) + found[2]
    return path + (f" {shlex.join(added)}" if added else "") + after
