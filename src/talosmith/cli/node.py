"""`talosmith node`"""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit
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
            text = await session.console(name, lines)
        emit({"node": name, "console": text.splitlines()}, output, lambda style: "\n".join(text.splitlines()))
        return 0

    return asyncio.run(run())
