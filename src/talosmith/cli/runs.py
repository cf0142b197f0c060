"""`talosmith runs`"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.errors import ExitCode, InventoryError, UsageError
from talosmith.inventory import load
from talosmith.report import runs as report_runs
from talosmith.report.style import Style

app = application("List what was run on the cluster, and how it ended.")

AllOption = Annotated[bool, typer.Option("--all", "-a", help="Of all clusters, not only of the inventory's.")]


@app.command()
def runs(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    every: AllOption = False,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="NUMBER", help="The latest ones only.", min=1)] = 50,
    output: OutputOption = Output.TEXT,
) -> int:
    """List what was run on the cluster, and how it ended; the latest last. Without an inventory, of all clusters."""
    found, problems = report_runs.recorded(None if every else cluster_name(inventory, environment))
    latest = found[-limit:]
    emit([one.as_data() for one in latest], output, lambda style: report_runs.as_text(latest, style))
    for problem in problems:
        say(f"{Style(sys.stderr).yellow('warning:')} {problem}" + (f"; {problem.hint}" if problem.hint else ""))
    return ExitCode.FAILED if problems else ExitCode.DONE


def cluster_name(inventory: Path | None, environment: str | None) -> str | None:
    """The inventory's cluster; None if none was asked for and there is no usable one here."""
    try:
        return load(inventory, environment).name
    except (UsageError, InventoryError):
        if inventory or environment or os.environ.get("TALOSMITH_INVENTORY"):
            raise
        return None
