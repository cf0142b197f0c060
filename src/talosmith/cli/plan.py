"""`talosmith plan`"""

from __future__ import annotations

import asyncio
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.allow import AllowOption
from talosmith.cli.options import EnvironmentOption, InventoryOption, NodeOption, Output, application, say
from talosmith.cli.planning import (
    OnlyOption,
    PruneOption,
    SkipOption,
    TakeOverOption,
    addon_options,
    command_line,
    plan_data,
    selected,
    show,
    show_warnings,
)
from talosmith.errors import ExitCode, UsageError
from talosmith.files import replace_file
from talosmith.report.data import as_json, envelope
from talosmith.session import Session

app = application(
    "Show what `up` would do, and why; changes nothing. Exit codes: 0 in sync, 2 changes or drift, 6 blocked."
)


class PlanOutput(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"  # for the comment of a pull request


@app.command()
def plan(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    only: OnlyOption = None,
    skip: SkipOption = None,
    node: NodeOption = None,
    take_over: TakeOverOption = None,
    prune: PruneOption = None,
    allow: AllowOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Save the plan to a file, for `talosmith up FILE`.")
    ] = None,
    new_secrets: Annotated[bool, typer.Option("--new-secrets", help="Plan as if new secrets were created.")] = False,
    destroy: Annotated[bool, typer.Option("--destroy", help="The plan of `talosmith destroy` instead.")] = False,
    output: Annotated[
        PlanOutput,
        typer.Option("--output", "-o", metavar="FORMAT", help="Output format: text, json, yaml or markdown."),
    ] = PlanOutput.TEXT,
) -> int:
    """Show what `up` would do, and why; changes nothing. Exit codes: 0 in sync, 2 changes or drift, 6 blocked."""

    selection = selected(only, skip, node)
    if destroy and (out or new_secrets or take_over or prune):
        what = "--out, --new-secrets, --take-over or --prune"
        raise UsageError(f"--destroy cannot be combined with {what}", hint="drop one of them")

    async def run() -> int:
        async with Session.open(inventory, environment, new_secrets=new_secrets, allow=allow or ()) as session:
            session.tell = say
            if destroy:
                made = await session.plan("destroy", selection)
            else:
                made = await session.plan("up", selection, **addon_options(take_over, prune, session))
        show_warnings(session)
        if output is PlanOutput.MARKDOWN:
            from talosmith.report.plan_markdown import as_markdown

            sys.stdout.write(as_markdown(plan_data(made, session.warnings)) + "\n")
        else:
            show(made, Output(output), session.warnings)
        if out is not None:
            replace_file(out, (as_json(envelope("Plan", plan_data(made, session.warnings))) + "\n").encode())
            again = command_line("up", session.folder, selection, take_over, prune, allow)
            say(f"plan saved to {out}; run it with `{again} {shlex.quote(str(out))}`")
        if made.blocked:
            return ExitCode.BLOCKED
        return ExitCode.DONE if made.in_sync else ExitCode.CHANGES_PENDING

    return asyncio.run(run())
