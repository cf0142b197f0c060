"""`talosmith support`"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.session import Session

app = application("Collect a support bundle: one zip with what is needed to find a fault, secrets stripped.")


@app.command()
def support(
    file: Annotated[
        Path | None,
        typer.Option("--out", "-O", metavar="FILE", help="Zip to write; else support-CLUSTER-TIME.zip here."),
    ] = None,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Collect a support bundle: one zip with what is needed to find a fault, secrets stripped.

    Inventory, plan, status, health, doctor, runs; of each node services, logs, kernel messages, events, machine
    config (redacted), resources and etcd; nodes, pods and events of Kubernetes. Read-only; nodes may be down. Every
    file is searched for every secret of the cluster. manifest.json lists what could not be collected, and why.
    """

    async def run() -> int:
        from talosmith.report import support as report
        from talosmith.support.collect import collect, default_path

        async with Session.open(inventory, environment) as session:
            path = file or default_path(session.cluster.name)
            bundle = await collect(session, path, say)
        for line in report.missing_lines([(one.path, one.reason) for one in bundle.missing]):
            say(line)
        text = report.as_text(str(path), bundle.size, len(bundle.files), bundle.masked)
        emit(bundle.as_data(), output, lambda style: text, kind="SupportBundle")
        return 0

    return asyncio.run(run())
