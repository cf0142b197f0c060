"""`talosmith plan`"""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.operating import OnlyOption, SkipOption, TargetOption, command_line, selected, show
from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, say
from talosmith.errors import ExitCode
from talosmith.files import replace_file
from talosmith.report.data import as_json
from talosmith.session import Session

app = application("Show what `up` would do, and why. Nothing is touched. Exit code 2: there is something to do.")


@app.command()
def plan(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    only: OnlyOption = None,
    skip: SkipOption = None,
    target: TargetOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write it to a file, for `talosmith up FILE`.")] = None,
    new_secrets: Annotated[
        bool, typer.Option("--new-secrets", help="Plan as if the secrets of a new cluster were made.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show what `up` would do, and why. Nothing is touched. Exit code 2: there is something to do."""

    selection = selected(only, skip, target)

    async def run() -> int:
        async with Session.open(inventory, environment, new_secrets=new_secrets) as session:
            observed = await session.observe()
            from talosmith.operations import up  # after the first question, as all that only its answer needs

            made = await session.plan(up, up.UpOptions(selection=selection), observed)
        show(made, output)
        if out is not None:
            replace_file(out, (as_json(made.as_data()) + "\n").encode())
            again = command_line("up", session.folder, selection)
            say(f"written to {out}; run it with `{again} {shlex.quote(str(out))}`")
        return ExitCode.DONE if made.empty and not made.blocked else ExitCode.CHANGES_PENDING

    return asyncio.run(run())
