"""`talosmith node`"""

from __future__ import annotations

import difflib
from typing import Annotated

import anyio
import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit
from talosmith.errors import UsageError
from talosmith.providers.base import HasConsole
from talosmith.session import Session

app = application("One node of the cluster.")


@app.callback()
def node() -> None:
    """One node of the cluster."""


@app.command()
def console(
    name: Annotated[str, typer.Argument(metavar="NODE", help="Which node.")],
    lines: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="How many of the last lines.")] = 50,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show what a node's machine wrote on its console, also when it never came up. Nothing is touched."""

    async def run() -> int:
        async with Session.open(inventory, environment) as session:
            provider = session.provider
            if not isinstance(provider, HasConsole):
                raise UsageError(f"{provider.name} shows no consoles", hint="look at the machine itself")
            machines = {machine.name: machine for machine in await provider.find()}
            if name not in machines:
                close = difflib.get_close_matches(name, machines, n=1)
                hint = f"did you mean `{close[0]}`?" if close else "see `talosmith status`"
                raise UsageError(f"there is no machine of the node `{name}`", hint=hint)
            text = await provider.console(machines[name], lines)
        emit({"node": name, "console": text.splitlines()}, output, lambda style: text.rstrip("\n"))
        return 0

    return anyio.run(run)
