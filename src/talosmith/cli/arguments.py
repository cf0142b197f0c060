"""The options that every command has, read from the arguments before any command is imported.

`-v`, `--log-format` and `-h` may stand before or after the command, so no command declares them.
"""

from __future__ import annotations

from dataclasses import dataclass

from talosmith.errors import UsageError

FRAME_OPTIONS = ("-i", "--inventory", "-e", "--environment", "-o", "--output")  # declared by commands, with a value
_FORMATS = ("text", "json")


@dataclass(frozen=True, slots=True)
class Frame:
    rest: list[str]  # the arguments without the options below
    verbose: bool = False
    log_format: str = "text"
    help: bool = False


def read_frame(argv: list[str]) -> Frame:
    """Raises `UsageError`. After `--`, arguments belong to the command."""
    rest: list[str] = []
    verbose = asks_help = False
    log_format = "text"
    arguments = iter(argv)
    for one in arguments:
        if one == "--":
            rest += [one, *arguments]
        elif one in ("-v", "--verbose"):
            verbose = True
        elif one in ("-h", "--help"):
            asks_help = True
        elif one.partition("=")[0] == "--log-format":
            log_format = one.partition("=")[2] if "=" in one else next(arguments, "")
        elif one in FRAME_OPTIONS:
            rest += [one, *([value] if (value := next(arguments, None)) is not None else [])]
        else:
            rest.append(one)
    if log_format not in _FORMATS:
        raise UsageError(f"--log-format: {log_format!r} is not one of text, json", hint="talosmith --help")
    if rest[:1] == ["--version"] or rest[:1] == ["-V"]:
        rest[:1] = ["version"]
    if rest[:1] == ["help"]:
        rest, asks_help = rest[1:], True
    return Frame(rest, verbose, log_format, asks_help)


def value_of(argv: list[str], short: str, long: str) -> str:
    """The value of an option wherever it stands; empty if it is not given."""
    for index, argument in enumerate(argv):
        if argument == "--":
            break
        name, equals, value = argument.partition("=")
        if name == long and equals:
            return value
        if name in (short, long):
            return "".join(argv[index + 1 : index + 2])
        if argument.startswith(short) and not argument.startswith("--"):
            return argument.removeprefix(short).removeprefix("=")
    return ""
