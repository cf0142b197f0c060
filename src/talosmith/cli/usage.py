"""Wrong usage in one form: the option or argument first, then what is wrong, then a command that can be pasted.

Typer reports through several exception classes, of its own or of click, depending on its version: names decide.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from talosmith.cli.commands import COMMANDS, DONE_BY
from talosmith.errors import UsageError


def no_such_command(name: str) -> UsageError:
    if name in DONE_BY:
        known = DONE_BY[name]
        return UsageError(f"no such command: {name}: {known.what}", hint=known.fix)
    return UsageError(
        f"no such command: {name}", hint=_meant(name, list(COMMANDS), "talosmith ") or "talosmith --help"
    )


def no_such_subcommand(name: str, known: list[str], path: str) -> UsageError:
    hint = _meant(name, known, f"talosmith {path} ") or f"talosmith {path} --help"
    return UsageError(f"no such command: {path} {name}", hint=hint)


def usage_error(wrong: Any, path: str) -> UsageError:
    """From what typer raised while it read the arguments of the command `path`."""
    context = getattr(wrong, "ctx", None)
    command = getattr(context, "command", None)
    path = " ".join(filter(None, [path, *_sub_path(context)]))
    help_line = f"talosmith {path} --help"
    kind = type(wrong).__name__
    if kind == "NoSuchOption":
        options = [name for one in getattr(command, "params", ()) for name in one.opts if name.startswith("--")]
        close = get_close_matches(wrong.option_name, options, n=1)
        hint = f"did you mean `{close[0]}`? see `{help_line}`" if close else help_line
        return UsageError(f"no such option: {wrong.option_name}", hint=hint)
    if kind == "NoSuchCommand" or str(wrong.message).startswith("No such command"):
        return no_such_subcommand(str(wrong.message).split("'")[1], list(getattr(command, "commands", {})), path)
    if kind == "MissingParameter" and wrong.param is not None:
        from talosmith.cli.examples import EXAMPLES
        from talosmith.cli.signature import parameter

        missing = parameter(wrong.param)
        what = (
            f"missing option: {missing.names[-1]} {missing.metavar}"
            if missing.names
            else f"missing {missing.metavar}"
        )
        return UsageError(what, hint=next(iter(EXAMPLES.get(path, ())), help_line))
    message = str(wrong.message).removeprefix("Value error, ").removeprefix("Got ").rstrip(".")
    if message.startswith("Input should be a valid"):  # what pydantic says of numbers
        message = "not a number"
    if " is not one of " in message:
        given, _, choices = message.replace("'", "").partition(" is not one of ")
        close = get_close_matches(given, choices.split(", "), n=1)
        hint = f"did you mean `{close[0]}`? see `{help_line}`" if close else help_line
        return UsageError(f"{_named(wrong)}{given!r} is not one of {choices}", hint=hint)
    if hasattr(wrong, "param_hint"):
        return UsageError(f"{_named(wrong)}{message}", hint=help_line)
    return UsageError(message[0].lower() + message[1:], hint=help_line)


def _named(wrong: Any) -> str:
    """`--output: `, or the argument's metavar."""
    if wrong.param_hint:
        given = wrong.param_hint
        return f"{given if isinstance(given, str) else ' / '.join(given)}: ".replace("'", "")
    if wrong.param is None:
        return ""
    from talosmith.cli.signature import parameter

    found = parameter(wrong.param)
    return f"{found.names[-1] if found.names else found.metavar}: "


def _sub_path(context: Any) -> list[str]:
    """Names of the subcommands that were found before the error."""
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return names


def _meant(name: str, known: list[str], before: str) -> str:
    close = get_close_matches(name, known, n=1)
    return f"did you mean `{before}{close[0]}`?" if close else ""
