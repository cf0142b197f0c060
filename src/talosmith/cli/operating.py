"""What commands that change a cluster have in common: show the plan, ask, run it, tell how it ended."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from talosmith.cli.options import Output, emit, say
from talosmith.cli.streams import put
from talosmith.engine.holder import Holder
from talosmith.engine.lock import ClusterLock
from talosmith.engine.runner import Outcome
from talosmith.engine.stopping import Stopping
from talosmith.errors import ExitCode, Permanent, UsageError
from talosmith.events import Listener
from talosmith.plan.builder import Selection
from talosmith.plan.step import Plan
from talosmith.report import checklist, summary
from talosmith.report import plan as plan_report
from talosmith.report.follow import RunSeen
from talosmith.report.json_lines import JsonLines
from talosmith.report.progress import watching
from talosmith.report.style import Style
from talosmith.report.timeline_html import write_timeline
from talosmith.session import Session

OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", metavar="KEY", help="Only steps of this key, such as 'machine/*'.")
]
SkipOption = Annotated[list[str] | None, typer.Option("--skip", metavar="KEY", help="Not the steps of this key.")]
TargetOption = Annotated[list[str] | None, typer.Option("--target", metavar="NODE", help="Only this node's steps.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
UnlockOption = Annotated[
    str, typer.Option("--force-unlock", metavar="ID", help="Take over a lock whose holder is surely gone.")
]
ConfirmOption = Annotated[
    str,
    typer.Option(
        "--confirm", metavar="CLUSTER", help="The cluster's name: yes also to what --yes alone does not cover."
    ),
]
LimitOption = Annotated[
    float | None, typer.Option("--limit", metavar="SECONDS", help="How long a step may take at most.", min=1)
]
WaitOption = Annotated[float, typer.Option("--wait", metavar="SECONDS", help="Wait for another run to end.", min=0)]


def selected(only: list[str] | None, skip: list[str] | None, target: list[str] | None) -> Selection:
    return Selection(only=tuple(only or ()), skip=tuple(skip or ()), targets=tuple(target or ()))


def command_line(verb: str, folder: Path, selection: Selection) -> str:
    """The same again: with what was selected, for the whole may be something else entirely."""
    options = [("--only", selection.only), ("--skip", selection.skip), ("--target", selection.targets)]
    words = [
        verb,
        "-i",
        str(folder),
        *(word for name, values in options for value in values for word in (name, value)),
    ]
    return f"talosmith {shlex.join(words)}"


def show(plan: Plan[Any], output: Output) -> None:
    emit(plan.as_data(), output, lambda style: plan_report.as_text(plan, style))


def refuse_blocked(plan: Plan[Any]) -> None:
    if plan.blocked:
        say(plan_report.as_text(plan, Style(sys.stderr)))
        raise Permanent("nothing was changed", hint="; ".join(plan.blocked))


def digest_in(file: Path | None) -> str:
    """Of a saved plan; empty if there is none."""
    if file is None:
        return ""
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["digest"])
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise UsageError(
            f"{file} is not a saved plan: {type(wrong).__name__}", hint="talosmith plan --out FILE"
        ) from None


def must_be(plan: Plan[Any], saved: str, file: Path | None) -> None:
    """A saved plan is run only while it is still what would be planned."""
    if saved and saved != plan.digest:
        raise Permanent(
            f"the world has moved since {file} was made: other steps are needed now",
            hint=f"look at the new plan: talosmith plan --out {file}",
        )


def confirm(plan: Plan[Any], *, yes: bool, name: str = "", confirmed: str = "") -> None:
    """`name`: has to be typed, for what cannot be undone. What the plan wants confirmed takes more than a yes."""
    if plan.confirm and confirmed == plan.cluster:
        return
    if yes and plan.confirm:
        raise UsageError(
            f"--yes does not cover this: {'; '.join(plan.confirm)}",
            hint=f"if it is meant, add --confirm {plan.cluster}",
        )
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to say yes", hint="look at `talosmith plan`, then add --yes")
    if name or plan.confirm:
        wanted = name or plan.cluster
        typed = typer.prompt(f"Type the cluster's name ({wanted}) to go on", default="", show_default=False, err=True)
        if typed.strip() != wanted:
            raise Permanent("nothing was changed: that was not the cluster's name")
    elif not typer.confirm("Go on?", err=True):
        raise Permanent("nothing was changed")


def told_taking_over(lock: ClusterLock, *, forced: bool) -> None:
    if lock.took_from is not None:
        say(f"took over from {lock.took_from}, {'as you said' if forced else 'which is dead'}")


def told_waiting(holder: Holder) -> None:
    say(f"waiting for {holder}")


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
    """Runs it and tells about it; the exit code."""
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
