"""`talosmith run`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.cli.runs import AllOption, scope
from talosmith.cli.streams import put
from talosmith.errors import UsageError
from talosmith.events import Event
from talosmith.report import runs as report_runs
from talosmith.report import summary
from talosmith.report import timeline as report_timeline
from talosmith.report.follow import RunSeen
from talosmith.report.json_lines import JsonLines
from talosmith.report.style import Style
from talosmith.report.text import terminal_width
from talosmith.report.timeline_html import write_timeline

app = application("Show one run.")


@app.callback()
def run() -> None:
    """Show one run."""


@app.command()
def show(
    wanted: Annotated[
        str, typer.Argument(metavar="[RUN]", help="Id of the run, or its last part: 20261116-2324-7f3a, 7f3a.")
    ] = "",
    last: Annotated[bool, typer.Option("--last", help="The latest run of the cluster; the default.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow a run in progress; ends with the run's exit code.")
    ] = False,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    every: AllOption = False,
    timeline: Annotated[
        Path | None, typer.Option("--timeline", metavar="FILE", help="Write the timeline as HTML, too.")
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="Print the recorded events only, one JSON object per line.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show what a run did and when, what it waited for, and its critical path; or follow a run in progress."""
    if wanted and last:
        raise UsageError("--last and a run id exclude each other", hint="pass one of them")
    found = report_runs.chosen(wanted) if wanted else _latest(inventory, environment, every=every)
    if follow:
        return _follow(found, output)
    recorded = report_runs.events_of(found)
    if timeline is not None:
        write_timeline(timeline, recorded)
        say(f"wrote {timeline}")
    if events:
        lines = JsonLines(sys.stdout, run=found.record.id, yaml=output is Output.YAML)
        for event in recorded:
            lines(event)
        return 0
    seen, drawn = RunSeen(recorded), report_timeline.timeline(recorded, outcome=found.outcome)
    width = terminal_width(sys.stdout) or 100

    def text(style: Style) -> str:
        chart = report_timeline.as_text(drawn, style, min(max(width, 60), 200))
        remarks = [f"{kind}: {text}" for kind, text in seen.remarks]
        remarks += [f"{style.red('error:')} {seen.problem}"] if seen.problem else []
        return "\n".join([report_runs.headline(found, style), chart, *remarks, "", summary.as_text(seen, style)])

    emit({**found.identity(), **drawn.as_data(), "summary": summary.as_data(seen)}, output, text, kind="Run")
    return 0


def _latest(inventory: Path | None, environment: str | None, *, every: bool) -> report_runs.Recorded:
    everything, state_folder = scope(inventory, environment, every=every)
    if not everything and state_folder is None:
        raise UsageError("the cluster has no secrets yet, so no run is recorded", hint="talosmith runs --all")
    return report_runs.latest(state_folder)


def _follow(found: report_runs.Recorded, output: Output) -> int:
    from talosmith.report.progress import watching
    from talosmith.report.run_follow import follow

    if output is not Output.TEXT:
        return follow(found, JsonLines(sys.stdout, run=found.record.id, yaml=output is Output.YAML))
    seen = RunSeen()
    say(report_runs.headline(found, Style(sys.stderr)))
    with watching(sys.stderr) as listener:

        def both(event: Event) -> None:
            seen.take(event)
            listener(event)

        code = follow(found, both)
    put(sys.stdout, summary.as_text(seen, Style(sys.stdout)))
    return code
