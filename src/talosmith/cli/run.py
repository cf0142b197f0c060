"""`talosmith run`"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.cli.runs import AllOption, cluster_name
from talosmith.report import runs as report_runs
from talosmith.report import summary
from talosmith.report import timeline as report_timeline
from talosmith.report.follow import RunSeen
from talosmith.report.json_lines import JsonLines
from talosmith.report.style import Style
from talosmith.report.timeline_html import write_timeline

app = application("Look at one run.")


@app.callback()
def run() -> None:
    """Look at one run."""


@app.command()
def show(
    wanted: Annotated[str, typer.Argument(metavar="[RUN]", help="Such as 12, dev/12, or `last`.")] = "last",
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    every: AllOption = False,
    timeline: Annotated[
        Path | None, typer.Option("--timeline", metavar="FILE", help="Write the timeline as an HTML file, too.")
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="Print everything it told, a JSON object a line, and nothing else.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show how a run went: what it did when, what it waited for, and what its length came from."""
    told = report_runs.events_of(report_runs.chosen(wanted, None if every else cluster_name(inventory, environment)))
    if timeline is not None:
        write_timeline(timeline, told)
        say(f"written to {timeline}")
    if events:
        lines = JsonLines(sys.stdout)
        for event in told:
            lines(event)
        return 0
    seen, found = RunSeen(told), report_timeline.timeline(told)

    def text(style: Style) -> str:
        width = shutil.get_terminal_size((100, 24)).columns
        chart = report_timeline.as_text(found, style, min(max(width, 60), 200))
        remarks = [f"{kind}: {said}" for kind, said in seen.remarks]
        remarks += [f"{style.red('error:')} {seen.problem}"] if seen.problem else []
        return "\n".join([chart, *remarks, "", summary.as_text(seen, style)])

    emit({**found.as_data(), "summary": summary.as_data(seen)}, output, text)
    return 0
