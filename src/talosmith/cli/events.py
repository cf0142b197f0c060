"""`talosmith events`"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from talosmith.cli.lines import LineOutput
from talosmith.cli.options import (
    EnvironmentOption,
    InventoryOption,
    NodeOption,
    Output,
    OutputOption,
    application,
    say,
)
from talosmith.errors import ExitCode
from talosmith.session import Session

if TYPE_CHECKING:
    from talosmith.observed.machine_events import NodeEvent
    from talosmith.talos import TalosNode

_RECENT = 10  # events of each node before the first new one

app = application("Show or follow the Talos events of all nodes: stages, services, boot sequences, config errors.")


@app.command()
def events(
    nodes: NodeOption = None,
    tail: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Only the last N events of each node; all, or 10 with --follow."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show new events until Ctrl-C, also after reboots of nodes.")
    ] = False,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show or follow the Talos events of all nodes: stages, services, boot sequences, config errors.

    Events come in the order of the nodes' clocks; a node keeps them until it reboots. Exit code 1: a node did not
    answer.
    """
    lines = LineOutput("MachineEvent", output)

    async def run() -> int:
        from talosmith.observed import machine_events
        from talosmith.report import machine_events as report

        async with Session.open(inventory, environment) as session:
            access = await session.access()
            names = access.chosen(nodes or ())
            width = max(map(len, names), default=0)

            async def reach(name: str) -> TalosNode:
                return (await access.reach(name)).node

            def show(found: NodeEvent) -> None:
                lines.put(report.as_data(found), report.as_line(found, width, lines.style))

            if follow:
                recent = _RECENT if tail is None else tail
                async for news in machine_events.follow(reach, names, recent):
                    if isinstance(news, machine_events.NodeLost):
                        say(f"{news.reason}; reconnecting")
                    else:
                        show(news)
            found, lost = await machine_events.history(reach, names, -1 if tail is None else tail)
        for event in found:
            show(event)
        for one in lost:
            say(f"no events: {one.reason}")
        return ExitCode.FAILED if lost else ExitCode.DONE

    return asyncio.run(run())
