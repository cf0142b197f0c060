"""`talosmith doctor`"""

from __future__ import annotations

import asyncio

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit
from talosmith.errors import ExitCode
from talosmith.observed.doctor import examine
from talosmith.report.findings import as_text
from talosmith.session import Session

app = application("Look for what would go wrong: here, at the provider, on the nodes. Nothing is touched.")


@app.command()
def doctor(
    inventory: InventoryOption = None, environment: EnvironmentOption = None, output: OutputOption = Output.TEXT
) -> int:
    """Look for what would go wrong: here, at the provider, on the nodes. Nothing is touched."""

    async def run() -> int:
        async with Session.open(inventory, environment) as session:
            observed = await session.observe()
            folders = (session.folder, session.state_folder)
            found = await examine(session.desired, session.provider, session.talos, folders, observed.nodes)
        emit(found, output, lambda style: as_text(found, style))
        return ExitCode.FAILED if any(one.level == "error" for one in found) else ExitCode.DONE

    return asyncio.run(run())
