"""`talosmith health`"""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from talosmith.cli.options import (
    Duration,
    EnvironmentOption,
    InventoryOption,
    Output,
    OutputOption,
    application,
    emit,
    say,
)
from talosmith.errors import ExitCode
from talosmith.report import health as report
from talosmith.session import Session

app = application("Check whether the cluster is healthy, and show the root causes if not. Exit code 5: not healthy.")


@app.command()
def health(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    wait: Annotated[float, Duration("--wait", help="Wait this long for the cluster to become healthy.")] = 0.0,
    every: Annotated[
        bool, typer.Option("--all", "-a", help="List every failed check, with the reason on each node.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Check whether the cluster is healthy, and show the root causes if not. Exit code 5: not healthy."""

    async def run() -> int:
        async with Session.open(inventory, environment) as session:
            found = await session.health(say, wait)
        name = session.cluster.name
        emit(
            report.as_data(found, name),
            output,
            lambda style: report.as_text(found, name, style, verbose=every),
            kind="Health",
        )
        return ExitCode.DONE if found.healthy else ExitCode.UNHEALTHY

    return asyncio.run(run())
