"""Help texts: of talosmith from the table of commands, of a command from what it accepts; 80 columns at most."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from talosmith.cli.commands import COMMANDS, GROUPS

if TYPE_CHECKING:
    from talosmith.cli.signature import Parameter, Signature

WIDTH = 80
_NAMES = 28  # columns; longer names have their help on the next line
GLOBAL = (
    ("-v, --verbose", "Print API calls and their durations to stderr"),
    ("--log-format FORMAT", "Messages on stderr as text or json (default: text)"),
    ("-h, --help", "Print this help"),
)


def main_help() -> str:
    lines = [
        "talosmith creates and maintains Talos Linux Kubernetes clusters from one",
        "inventory.",
        "",
        "Usage: talosmith COMMAND [OPTIONS]",
    ]
    width = max(map(len, COMMANDS))
    for group in GROUPS:
        lines += ["", f"{group}:"]
        members = ((name, command) for name, command in COMMANDS.items() if command.group == group)
        lines += [f"  {name.ljust(width)}  {command.summary}" for name, command in members]
    lines += ["", "Options, before or after the command:"]
    options = (
        ("-i, --inventory FOLDER", "Inventory folder; default: $TALOSMITH_INVENTORY, else search upwards from here"),
        ("-e, --environment NAME", "Environment: the folder inventory/NAME/"),
        ("-o, --output FORMAT", "Output format: text, json or yaml (default: text)"),
        *GLOBAL[:2],
        ("--version", "Print talosmith's and the supported versions"),
        ("-h, --help", "Print help; `talosmith COMMAND -h` for a command"),
    )
    lines += _columns(options)
    examples = ("talosmith init", "talosmith plan", "talosmith up", "talosmith help node")
    return "\n".join([*lines, "", "Examples:", *(f"  {one}" for one in examples)]) + "\n"


def command_help(found: Signature) -> str:
    from talosmith.cli.examples import EXAMPLES

    what = "COMMAND" if found.commands else _arguments(found.arguments)
    lines = textwrap.wrap(f"Usage: talosmith {found.path} {what} [OPTIONS]".replace("  ", " "), WIDTH)
    lines += ["", *textwrap.wrap(found.help, WIDTH)]
    examples = EXAMPLES.get(found.path) or tuple(
        one for child in found.commands.values() for one in EXAMPLES.get(child.path, ())[:1]
    )
    if found.commands:
        lines += ["", "Commands:", *_columns((name, _first(child.help)) for name, child in found.commands.items())]
    if any(one.help for one in found.arguments):
        lines += ["", "Arguments:", *_columns((one.metavar, _help(one)) for one in found.arguments)]
    options = [(", ".join(one.names) + (f" {one.metavar}" if one.metavar else ""), one) for one in found.options]
    if options:
        lines += ["", "Options:", *_columns((names, _help(one)) for names, one in options)]
    if found.notes:
        heading, *notes = found.notes.splitlines()
        lines += ["", heading, *_columns(note.split("\t", 1) for note in notes)]
    lines += ["", "Global options:", *_columns(GLOBAL)]
    if examples:
        lines += ["", "Examples:", *(f"  {one}" for one in examples[:3])]
    if found.commands:
        lines += ["", f"`talosmith {found.path} COMMAND -h` prints the help of a command."]
    return "\n".join(lines) + "\n"


def _arguments(arguments: Iterable[Parameter]) -> str:
    words = []
    for one in arguments:
        word = one.metavar + ("..." if one.repeatable else "")
        words.append(word if one.required else f"[{word}]")
    return " ".join(words)


def _help(one: Parameter) -> str:
    remarks = [*(["required"] if one.required and one.names else []), *(["repeatable"] if _repeats(one) else [])]
    remarks += [f"default: {one.default}"] if one.default and "default" not in one.help else []
    return f"{one.help} ({', '.join(remarks)})" if remarks else one.help


def _repeats(one: Parameter) -> bool:
    return one.repeatable and bool(one.names) and "repeatable" not in one.help


def _columns(rows: Iterable[Iterable[str]]) -> list[str]:
    pairs = [tuple(row) for row in rows]
    fitting = [len(name) for name, _ in pairs if len(name) <= _NAMES]
    width = max(fitting, default=0) + 4
    lines = []
    for name, text in pairs:
        wrapped = textwrap.wrap(text, WIDTH - width, break_on_hyphens=False) or [""]
        head = f"  {name}"
        if len(head) + 2 > width:
            lines.append(head)
            head = ""
        lines.append(f"{head.ljust(width)}{wrapped[0]}".rstrip())
        lines += [" " * width + line for line in wrapped[1:]]
    return lines


def _first(text: str) -> str:
    """The first sentence."""
    return text.partition(". ")[0].rstrip(".")
