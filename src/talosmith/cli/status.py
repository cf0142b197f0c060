"""`talosmith status`"""

from __future__ import annotations

import asyncio

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit
from talosmith.report import status as status_report
from talosmith.session import Session

app = application("Show what is there: machines, Talos, etcd and Kubernetes, node by node. Nothing is touched.")


@app.command()
def status(
    inventory: InventoryOption = None, environment: EnvironmentOption = None, output: OutputOption = Output.TEXT
) -> int:
    """Show what is there: machines, Talos, etcd and Kubernetes, node by node. Nothing is touched."""

    async def run() -> int:
        async with Session.open(inventory, environment) as session:
            observed = await session.observe()
        desired = session.desired
        emit(
            status_report.as_data(desired, observed),
            output,
            lambda style: status_report.as_text(desired, observed, style),
        )
        return 0

    return asyncio.run(run())
