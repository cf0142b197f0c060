"""Runs a plan for a command, and prints progress, checklist and summary. Imported once there is a plan to run."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from talosmith.cli.options import say
from talosmith.cli.run_lines import RunLines
from talosmith.cli.streams import put
from talosmith.engine.runner import Outcome
from talosmith.engine.stopping import Stopping
from talosmith.errors import ExitCode, Permanent
from talosmith.events import Listener
from talosmith.plan.step import Plan
from talosmith.report import checklist, summary
from talosmith.report.follow import RunSeen
from talosmith.report.progress import watching
from talosmith.report.style import Style
from talosmith.report.timeline_html import write_timeline
from talosmith.session import Session


async def carry_out(
    session: Session,
    plan: Plan[Any],
    lines: RunLines,
    *,
    again: str,
    trust_first_use: bool = False,
    timeline: Path | None = None,
    limit: float | None = None,
) -> int:
    """Runs the plan and prints what happens; the exit code."""
    seen = RunSeen()
    async with Stopping.on_signals() as stopping:
        outcome = await _run(session, plan, lines, seen, stopping, trust_first_use, limit or math.inf)
    written = _timeline(session, timeline)
    if lines.active:
        lines.ended(plan, outcome)
        return outcome.exit_code
    style = Style(sys.stdout)
    put(sys.stdout, checklist.as_text(checklist.of_run(seen), style))
    put(sys.stdout, summary.as_text(seen, style, again=again))
    if outcome.problem is not None:
        say(f"{Style(sys.stderr).red('error:')} {outcome.problem}")
    if written is not None:
        put(sys.stdout, f"  timeline: {written}")
    if outcome.exit_code == ExitCode.DONE and (commands := _next(session, plan)):
        put(sys.stdout, checklist.next_commands(commands, style))
    return outcome.exit_code


async def _run(
    session: Session,
    plan: Plan[Any],
    lines: RunLines,
    seen: RunSeen,
    stopping: Stopping,
    trust_first_use: bool,
    limit: float,
) -> Outcome:
    async def run(listeners: Sequence[Listener]) -> Outcome:
        return await session.run(
            plan, listeners=listeners, trust_first_use=trust_first_use, stopping=stopping, limit=limit
        )

    if lines.active:
        return await run([seen.take, lines.listener])
    with watching(sys.stderr, simulated=session.provider.simulated) as listener:
        return await run([seen.take, listener])


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


def _next(session: Session, plan: Plan[Any]) -> list[str]:
    if plan.operation != "up":
        return []
    folder, node = session.folder, session.desired.cluster.controlplanes[0].ip
    files = {name: shlex.quote(str(folder / name)) for name in ("kubeconfig", "talosconfig")}
    return [
        f"kubectl --kubeconfig {files['kubeconfig']} get nodes -o wide",
        f"talosctl --talosconfig {files['talosconfig']} -n {node} dashboard",
        f"talosmith status --watch -i {shlex.quote(str(folder))}",
    ]
