"""Finds the command, runs it, and turns what it raises into a message and an exit code.

Only the chosen command is imported: `talosmith --help` must feel instant, and typer alone costs more than that.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import Any

from talosmith.cli import pasteable
from talosmith.cli.arguments import FRAME_OPTIONS, Frame, read_frame
from talosmith.cli.commands import COMMANDS
from talosmith.errors import ExitCode, TalosmithError, UsageError


def run(argv: list[str]) -> int:
    """The exit code."""
    pasteable.remember(argv)
    try:
        frame = read_frame(argv)
        if not (frame.verbose or frame.log_format == "json"):
            return _run(frame, argv)
        from talosmith.cli.log import logging_to_stderr

        with logging_to_stderr(verbose=frame.verbose, as_json=frame.log_format == "json"):
            return _run(frame, argv)
    except TalosmithError as problem:  # raised by `read_frame` alone
        return _failed(problem, argv)


def _run(frame: Frame, argv: list[str]) -> int:
    try:
        before, name, after = _split(frame.rest)
        if name is None:
            from talosmith.cli.help import main_help

            sys.stdout.write(main_help())
            return ExitCode.DONE
        command = import_module(COMMANDS[name].module)
        gc.freeze()  # what was imported stays: to look through it for garbage again and again finds none
        gc.enable()
        if frame.help:
            return _print_help(command.app, [name, *_words(after)])
        return _call(command.app, [*after, *before], name)
    except TalosmithError as problem:
        return _failed(problem, argv)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _failed(problem: TalosmithError, argv: list[str]) -> int:
    from talosmith.cli.failure import report_failure

    return report_failure(problem, argv)


def _split(argv: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Options before the command, the command, and the rest."""
    before: list[str] = []
    rest = list(argv)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        name = option.partition("=")[0]
        if name not in FRAME_OPTIONS:
            raise UsageError(f"no such option before a command: {option}", hint="talosmith --help")
        if "=" not in option and not rest:
            raise UsageError(f"{option} needs a value", hint="talosmith --help")
        before += [option] if "=" in option else [option, rest.pop(0)]
    if not rest:
        return [], None, []
    name, *after = rest
    if name not in COMMANDS:
        from talosmith.cli.usage import no_such_command

        raise no_such_command(name)
    return before, name, after


def _words(arguments: list[str]) -> list[str]:
    """The arguments that may name subcommands: no options, no values of -i, -e and -o."""
    found: list[str] = []
    takes_value = False
    for one in arguments:
        if not one.startswith("-") and not takes_value:
            found.append(one)
        takes_value = one in FRAME_OPTIONS
    return found


def _print_help(app: Any, path: list[str]) -> int:
    from typer.main import get_command

    from talosmith.cli.help import command_help
    from talosmith.cli.signature import signature

    found = signature(get_command(app), path[0])
    for word in path[1:]:
        if word not in found.commands:
            if found.commands:
                from talosmith.cli.usage import no_such_subcommand

                raise no_such_subcommand(word, list(found.commands), found.path)
            break
        found = found.commands[word]
    sys.stdout.write(command_help(found))
    return ExitCode.DONE


def _call(app: Any, arguments: list[str], name: str) -> int:
    import typer
    from typer.main import get_command

    command = get_command(app)
    path = _words(arguments)
    inner: Any = command
    while path and path[0] in getattr(inner, "commands", ()):
        inner = inner.commands[path.pop(0)]
    if hasattr(inner, "commands") and not path:  # a group without a command
        return _print_help(app, [name, *_words(arguments)])
    usage: Any = typer.BadParameter.__bases__[0]  # the base class of errors about how a command was called
    try:
        result = command.main(args=arguments, prog_name=f"talosmith {name}", standalone_mode=False)
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except usage as wrong:
        from talosmith.cli.usage import usage_error

        raise usage_error(wrong, name) from None
    return result if isinstance(result, int) else ExitCode.DONE
