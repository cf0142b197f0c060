"""`talosmith diff`"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import (
    EnvironmentOption,
    InventoryOption,
    NodeOption,
    Output,
    OutputOption,
    application,
    emit,
)
from talosmith.cli.planning import columns
from talosmith.desired import outputs
from talosmith.errors import ExitCode
from talosmith.report import diff as report

_SUMMARY = "Compare rendered machine configs with the live cluster, or with files. Exit code 2: they differ."

app = application(_SUMMARY)


@app.command(help=_SUMMARY)
def diff(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]",
            help="Compare with the files of this folder instead: <node>.yaml, <cluster>-<node>.yaml or <role>.yaml.",
        ),
    ] = None,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    node: NodeOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show each changed field of the live machine configs with both values; secrets are masked."""
    return (
        _files(folder, inventory, environment, node, output)
        if folder
        else _live(inventory, environment, node, output)
    )


def _live(inventory: Path | None, environment: str | None, node: list[str] | None, output: Output) -> int:
    from talosmith.session import Session

    async def run() -> int:
        async with Session.open(inventory, environment) as session:
            found = await session.config_differences(node or ())
        data = report.live_data(found)
        emit({"nodes": data}, output, lambda style: report.live_text(found, style, columns(sys.stdout)), kind="Diff")
        return ExitCode.DONE if all(one.state == "same" for one in found) else ExitCode.CHANGES_PENDING

    return asyncio.run(run())


def _files(
    folder: Path, inventory: Path | None, environment: str | None, node: list[str] | None, output: Output
) -> int:
    from talosmith.desired.machine import MachineConfigs
    from talosmith.desired.secrets_file import read_secrets
    from talosmith.inventory import load
    from talosmith.inventory.sources import find

    cluster = load(inventory, environment)
    configs = MachineConfigs(cluster, read_secrets(find(inventory, environment).parent).bundle)
    found = list(outputs.differences(configs, outputs.chosen(cluster, node or []), folder))
    emit({"nodes": report.files_data(found)}, output, lambda style: report.files_text(found, style), kind="Diff")
    return ExitCode.CHANGES_PENDING if any(one.lines or one.file is None for one in found) else ExitCode.DONE
