"""Finds the command, runs it, and turns what it raises into words and an exit code.

Only the chosen command is imported: `talosmith --help` must feel instant, and typer alone costs more than that.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any, NamedTuple

from talosmith.errors import ExitCode, TalosmithError, UsageError


class Command(NamedTuple):
    summary: str
    module: str  # has `app`, a typer application of one command or of several


COMMANDS = {
    "init": Command("Write a new inventory, with a few questions", "talosmith.cli.init"),
    "validate": Command("Check the inventory; every problem at once", "talosmith.cli.validate"),
    "show": Command("Show the cluster that the inventory describes", "talosmith.cli.show"),
    "secrets": Command("Make, show, import, export or rekey the cluster's secrets", "talosmith.cli.secrets"),
    "render": Command("Write machine configs, talosconfig, seeds; list images", "talosmith.cli.render"),
    "diff": Command("Compare machine configs with files rendered earlier", "talosmith.cli.diff"),
    "doctor": Command("Look for what would go wrong, with cause and fix", "talosmith.cli.doctor"),
    "plan": Command("Show what `up` would do, and why; nothing is touched", "talosmith.cli.plan"),
    "up": Command("Bring the cluster up, or back to what the inventory says", "talosmith.cli.up"),
    "status": Command("Show what is there, node by node", "talosmith.cli.status"),
    "node": Command("Show a node's console", "talosmith.cli.node"),
    "health": Command("Look at every condition of a healthy cluster", "talosmith.cli.health"),
    "destroy": Command("Take the cluster's machines away, or reset them", "talosmith.cli.destroy"),
    "runs": Command("List what was run on the cluster, and how it ended", "talosmith.cli.runs"),
    "run": Command("Show one run: what happened when, as text or HTML", "talosmith.cli.run"),
    "graph": Command("Draw the cluster or a plan, as SVG or Mermaid", "talosmith.cli.graph"),
    "lab": Command("Simulated machines on this computer, to try things on", "talosmith.cli.lab"),
    "import": Command("Make an inventory from another tool's files", "talosmith.cli.import_"),
    "schema": Command("Print the JSON Schema of inventories, for editors", "talosmith.cli.schema"),
    "completion": Command("Print what a shell needs to complete commands", "talosmith.cli.completion"),
}

_WITH_VALUE = {"-i": "--inventory", "-e": "--environment", "-o": "--output"}
_COMPLETION = "_TALOSMITH_COMPLETE"


def run(argv: list[str]) -> int:
    """The exit code."""
    try:
        if _COMPLETION in os.environ:
            return _call(whole_app(), argv, "talosmith")
        before, name, after = _split(argv)
        if name is None:
            sys.stdout.write(_help())
            return ExitCode.DONE
        command = import_module(COMMANDS[name].module)
        gc.freeze()  # what was imported stays: to look through it for garbage again and again finds none
        return _call(command.app, [*after, *before], f"talosmith {name}")
    except TalosmithError as problem:
        from talosmith.cli.failure import report_failure

        return report_failure(problem, argv)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def whole_app() -> Any:
    """All commands in one typer application: what shell completion looks at."""
    import typer

    app = typer.Typer(rich_markup_mode=None)
    for name, command in COMMANDS.items():
        app.add_typer(import_module(command.module).app, name=name, help=command.summary)
    return app


def _split(argv: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Options that stand before the command, the command, and the rest."""
    before: list[str] = []
    rest = list(argv)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-h", "--help"):
            return [], None, []
        name = option.partition("=")[0]
        if name in _WITH_VALUE or name in _WITH_VALUE.values():
            if "=" not in option and not rest:
                raise UsageError(f"{option} needs a value")
            before += [option] if "=" in option else [option, rest.pop(0)]
        else:
            raise UsageError(f"no such option: {option}", hint="see `talosmith --help`")
    if not rest or rest == ["help"]:
        return [], None, []
    name, *after = rest
    if name not in COMMANDS:
        from difflib import get_close_matches

        close = get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean `{close[0]}`?" if close else "see `talosmith --help`"
        raise UsageError(f"no such command: {name}", hint=hint)
    return before, name, after


def _call(app: Any, arguments: list[str], name: str) -> int:
    import typer
    from typer.main import get_command

    usage: Any = typer.BadParameter.__bases__[0]  # the family of errors about how a command was called
    try:
        result = get_command(app).main(args=arguments, prog_name=name, standalone_mode=False)
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except usage as wrong:
        message = wrong.format_message()
        raise UsageError(message[0].lower() + message[1:].rstrip("."), hint=f"see `{name} --help`") from None
    return result if isinstance(result, int) else ExitCode.DONE


def _help() -> str:
    width = max(len(name) for name in COMMANDS)
    commands = "\n".join(f"  {name.ljust(width)}  {command.summary}" for name, command in COMMANDS.items())
    return f"""\
talosmith brings up and keeps Talos Linux Kubernetes clusters from one inventory.

Usage: talosmith [-i FOLDER] [-e ENVIRONMENT] COMMAND …

Commands:
{commands}

Options:
  -i, --inventory FOLDER         where the inventory is; else TALOSMITH_INVENTORY, else found from here upwards
  -e, --environment NAME         which of several: inventory/NAME/
  -o, --output text|json|yaml    how to print the result
  --version                      print the version
  -h, --help                     this text; `talosmith COMMAND --help` tells more

A first cluster: talosmith init, then talosmith validate, then talosmith show.
"""
