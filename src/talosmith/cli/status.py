"""`talosmith status`"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.errors import ExitCode
from talosmith.observed.status import ClusterStatus, cluster_status
from talosmith.observed.world import Observed
from talosmith.report import status as status_report
from talosmith.report.painter import terminal_size
from talosmith.session import Session

_SUMMARY = (
    "Show the cluster: endpoint, etcd, versions, and each node's phase and drift. Changes nothing. "
    "Exit code 2: out of sync with the inventory; 5: nodes are unhealthy or unreachable."
)
app = application(_SUMMARY)


@app.command(help=_SUMMARY)
def status(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Refresh on changes and every 2 s until Ctrl-C; mark changed nodes.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    async def run() -> int:
        async with Session.open(inventory, environment) as session:
            session.tell = say
            if watch:
                return await _watched(session, output)
            observed = await session.with_addons(await session.observe())
            found = cluster_status(session.desired, observed, await session.causes(observed))
        width = terminal_size(sys.stdout)[0]
        data = status_report.as_data(found)
        emit(data, output, lambda style: status_report.as_text(found, style, width), kind="Status")
        return found.exit_code

    return asyncio.run(run())


async def _watched(session: Session, output: Output) -> int:
    """Until a signal comes; the exit code of the state observed last."""
    from talosmith.engine.stopping import Stopping
    from talosmith.report.status_watch import StatusWatch

    shown = StatusWatch(sys.stdout, as_json=output is Output.JSON, as_yaml=output is Output.YAML)
    code: int = ExitCode.INTERRUPTED
    async with Stopping.on_signals() as stopping:
        stopped = asyncio.ensure_future(stopping.until_wanted())
        states = session.follow()
        while True:
            state = asyncio.ensure_future(_next(session, states))
            await asyncio.wait({stopped, state}, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                state.cancel()
                await asyncio.wait({state})
                return code
            found = state.result()
            shown.show(found)
            code = found.exit_code


async def _next(session: Session, states: AsyncIterator[Observed]) -> ClusterStatus:
    observed = await session.with_addons(await anext(states))
    return cluster_status(session.desired, observed, await session.causes(observed))
