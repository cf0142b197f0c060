"""`talosmith runs`"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.errors import ExitCode, InventoryError, TalosmithError, UsageError
from talosmith.report import runs as report_runs
from talosmith.report.style import Style
from talosmith.report.text import terminal_width
from talosmith.session import state_folder_of

app = application("List the runs of the cluster: when each started, how long it took, how it ended.")

AllOption = Annotated[bool, typer.Option("--all", "-a", help="Runs of all clusters.")]


@app.command()
def runs(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    every: AllOption = False,
    limit: Annotated[int, typer.Option("--limit", metavar="NUMBER", help="Only the latest runs.", min=1)] = 50,
    output: OutputOption = Output.TEXT,
) -> int:
    """List the runs of the inventory's cluster, latest last. Without an inventory: runs of all clusters."""
    everything, state_folder = scope(inventory, environment, every=every)
    found: list[report_runs.Recorded] = []
    problems: list[TalosmithError] = []
    if everything or state_folder is not None:
        found, problems = report_runs.recorded(state_folder)
    latest = found[-limit:]
    width = terminal_width(sys.stdout)
    emit(
        {"runs": [one.as_data() for one in latest]},
        output,
        lambda style: report_runs.as_text(latest, style, width=width, every=everything),
        kind="Runs",
    )
    for problem in problems:
        say(f"{Style(sys.stderr).yellow('warning:')} {problem}" + (f"; {problem.hint}" if problem.hint else ""))
    return ExitCode.FAILED if problems else ExitCode.DONE


def scope(inventory: Path | None, environment: str | None, *, every: bool) -> tuple[bool, Path | None]:
    """Whether all clusters are meant, and else the state folder of the inventory's cluster, if it has one yet."""
    if every:
        return True, None
    try:
        return False, state_folder_of(inventory, environment)
    except (UsageError, InventoryError):
        if inventory or environment or os.environ.get("TALOSMITH_INVENTORY"):
            raise
        return True, None
