"""Runs a plan for a command, and prints progress, checklist and summary. Imported once there is a plan to run."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from talosmith.cli.options import Output, say
from talosmith.cli.streams import put
from talosmith.engine.runner import Outcome
from talosmith.engine.stopping import Stopping
from talosmith.errors import ExitCode, Permanent
from talosmith.events import Listener
from talosmith.plan.step import Plan
from talosmith.report import checklist, summary
from talosmith.report.follow import RunSeen
from talosmith.report.json_lines import JsonLines
from talosmith.report.progress import watching
from talosmith.report.style import Style
from talosmith.report.timeline_html import write_timeline
from talosmith.session import Session


async def carry_out(
    session: Session,
    plan: Plan[Any],
    output: Output,
    *,
    again: str,
    trust_first_use: bool = False,
    timeline: Path | None = None,
    limit: float | None = None,
) -> int:
    """Runs the plan and prints what happens; the exit code."""
    seen = RunSeen()
    async with Stopping.on_signals() as stopping:
        outcome = await _run(session, plan, output, seen, stopping, trust_first_use, limit or math.inf)
    written = _timeline(session, timeline)
    if output is not Output.TEXT:
        return outcome.exit_code
    style = Style(sys.stdout)
    put(sys.stdout, checklist.as_text(checklist.of_run(seen), style))
    put(sys.stdout, summary.as_text(seen, style, again=again))
    if outcome.problem is not None:
        say(f"{Style(sys.stderr).red('error:')} {outcome.problem}")
    if outcome.exit_code == ExitCode.DONE:
        put(sys.stdout, checklist.next_commands(_next(session, plan, written), style))
    elif written is not None:
        put(sys.stdout, f"  timeline: {written}")
    return outcome.exit_code


async def _run(
    session: Session,
    plan: Plan[Any],
    output: Output,
    seen: RunSeen,
    stopping: Stopping,
    trust_first_use: bool,
    limit: float,
) -> Outcome:
    async def run(listeners: Sequence[Listener]) -> Outcome:
        return await session.run(
            plan, listeners=listeners, trust_first_use=trust_first_use, stopping=stopping, limit=limit
        )

    if output is Output.TEXT:
        with watching(sys.stderr) as listener:
            return await run([seen.take, listener])
    return await run([seen.take, JsonLines(sys.stdout)])


def _timeline(session: Session, wanted: Path | None) -> Path | None:
    events = session.last_events()
    if not events:
        return None
    path = wanted or session.state_folder / "timeline.html"
    try:
        write_timeline(path, events)
    except Permanent as problem:  # how the run ended counts for more
        say(f"{problem}; see `talosmith run show`")
        return None
    return path


def _next(session: Session, plan: Plan[Any], timeline: Path | None) -> list[tuple[str, str]]:
    commands: list[tuple[str, Any]] = []
    if plan.operation == "up":
        folder = session.folder
        node = session.desired.cluster.controlplanes[0].ip
        commands = [
            (f"kubectl --kubeconfig {folder / 'kubeconfig'} get nodes -o wide", "the nodes"),
            (f"talosctl --talosconfig {folder / 'talosconfig'} -n {node} dashboard", "one of them from inside"),
            (f"talosmith plan -i {folder}", "what a change of the inventory would do"),
        ]
    if timeline is not None:
        commands.append((f"xdg-open {timeline}", "where the time went"))
    return commands
