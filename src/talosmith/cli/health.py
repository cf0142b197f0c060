"""`talosmith health`"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.errors import ExitCode
from talosmith.report import checklist
from talosmith.session import Session

app = application("Look at every condition of a healthy cluster. Exit code 5: one of them does not hold.")


@app.command()
def health(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", help="Wait so long for all of them to hold.", min=0)
    ] = 0.0,
    output: OutputOption = Output.TEXT,
) -> int:
    """Look at every condition of a healthy cluster. Exit code 5: one of them does not hold."""

    async def run() -> int:
        async with Session.open(inventory, environment) as session:
            found = await session.health(say, wait)
        items = [checklist.Item(check.name, verdict.ok, verdict.detail) for check, verdict in found]
        data: list[dict[str, Any]] = [item._asdict() for item in items]
        emit(data, output, lambda style: checklist.as_text(items, style))
        return ExitCode.DONE if all(item.ok for item in items) else ExitCode.UNHEALTHY

    return asyncio.run(run())
