"""`talosmith doctor`"""

from __future__ import annotations

import asyncio

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit
from talosmith.errors import ExitCode
from talosmith.report.findings import by_area
from talosmith.session import Session

app = application("Find what is wrong: on this computer, at the provider, on the nodes, in the cluster. Read-only.")


@app.command()
def doctor(
    inventory: InventoryOption = None, environment: EnvironmentOption = None, output: OutputOption = Output.TEXT
) -> int:
    """Find what is wrong: on this computer, at the provider, on the nodes, in the cluster. Read-only."""

    async def run() -> int:
        async with Session.open(inventory, environment) as session:
            found = await session.examine()
        emit(
            {"cluster": session.cluster.name, "findings": found},
            output,
            lambda style: by_area(found, style),
            kind="Doctor",
        )
        return ExitCode.FAILED if any(one.level == "error" for one in found) else ExitCode.DONE

    return asyncio.run(run())
