"""`talosmith show`"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.inventory import check
from talosmith.report import cluster as report_cluster
from talosmith.report.problems import as_text
from talosmith.report.style import Style

app = application("Show the cluster that the inventory describes, with everything resolved.")


@app.command()
def show(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
    origin: Annotated[
        bool,
        typer.Option("--origin", help="Tell for each value the file and line, default or derivation it is from."),
    ] = False,
) -> int:
    """Show the cluster that the inventory describes, with everything resolved."""
    report = check(inventory, environment)
    cluster = report.cluster
    warnings = [problem for problem in report.problems if problem.severity == "warning"]
    if warnings:
        say(as_text(warnings, Style(sys.stderr)))
    if origin:
        found = report.origins()
        emit(found, output, lambda style: report_cluster.origins_as_text(found, style))
    else:
        emit(cluster, output, lambda style: report_cluster.as_text(cluster, style))
    return 0
