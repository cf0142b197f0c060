"""`talosmith show`"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.inventory import check
from talosmith.model.allowed import EVERYTHING
from talosmith.report import cluster as report_cluster
from talosmith.report.problems import as_lines
from talosmith.report.style import Style

app = application("Show the cluster that the inventory describes, with everything resolved.")


@app.command()
def show(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
    origin: Annotated[
        bool,
        typer.Option("--origin", help="Show the origin of each value: file and line, default, or derivation."),
    ] = False,
) -> int:
    """Show the cluster that the inventory describes, with everything resolved."""
    report = check(inventory, environment, allow=EVERYTHING)
    cluster = report.cluster
    if report.warnings:
        say(as_lines(report.warnings, Style(sys.stderr)))
    if origin:
        found = report.origins()
        emit({"origins": found}, output, lambda style: report_cluster.origins_as_text(found, style), kind="Origins")
    else:
        data = report_cluster.as_data(cluster)
        emit(data, output, lambda style: report_cluster.as_text(cluster, style), kind="Cluster")
    return 0
