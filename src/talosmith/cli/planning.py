"""What commands that plan have in common: options, how a plan is printed, what is checked before it is run."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from talosmith.cli.options import Duration, Output, emit, say
from talosmith.cli.pasteable import fixes_pasteable
from talosmith.errors import Permanent, PlanBlocked, Problem, UsageError, no_such
from talosmith.plan.builder import Selection
from talosmith.plan.step import Plan
from talosmith.report import plan as plan_report
from talosmith.report.problems import as_data as problem_data
from talosmith.report.style import Style

if TYPE_CHECKING:
    from talosmith.cli.run_lines import RunLines
    from talosmith.engine.holder import Holder
    from talosmith.engine.lock import ClusterLock
    from talosmith.session import Session


class Prunable(StrEnum):
    """What an add-on leaves behind unless it is named: it holds what others have put there."""

    CRDS = "crds"
    VOLUMES = "volumes"
    CLAIMS = "claims"


OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="KEY", help="Only steps with this key, such as 'machine/*'; repeatable."),
]
SkipOption = Annotated[
    list[str] | None, typer.Option("--skip", metavar="KEY", help="No steps with this key; repeatable.")
]
TakeOverOption = Annotated[
    list[str] | None,
    typer.Option(
        "--take-over", metavar="ADDON", help="Overwrite objects of this add-on that another tool created; repeatable."
    ),
]
PruneOption = Annotated[
    list[Prunable] | None,
    typer.Option(
        "--prune", metavar="KIND", help="Also delete crds, volumes or claims of add-ons no longer wanted; repeatable."
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
UnlockOption = Annotated[str, typer.Option("--force-unlock", metavar="ID", help="Break a stale lock by its id.")]
ConfirmOption = Annotated[
    str,
    typer.Option("--confirm", metavar="CLUSTER", help="The cluster's name: confirms also what --yes does not cover."),
]
LimitOption = Annotated[float | None, Duration("--limit", help="Longest time that a step may take.", least=1)]
WaitOption = Annotated[float, Duration("--wait", help="How long to wait for another run to end.")]


def selected(only: list[str] | None, skip: list[str] | None, node: list[str] | None) -> Selection:
    return Selection(only=tuple(only or ()), skip=tuple(skip or ()), targets=tuple(node or ()))


def addon_options(take_over: list[str] | None, prune: list[Prunable] | None, session: Session) -> dict[str, Any]:
    """Options of `up` that are about add-ons."""
    for name in take_over or ():
        if name not in session.cluster.addons:
            raise no_such("add-on", name, session.cluster.addons, otherwise="see `talosmith addons list`")
    return {"take_over": tuple(take_over or ()), "prune": tuple(sorted({str(one) for one in prune or ()}))}


def command_line(
    verb: str,
    folder: Path,
    selection: Selection,
    take_over: Sequence[str] | None = None,
    prune: Sequence[str] | None = None,
    allow: Sequence[str] | None = None,
) -> str:
    """The same command, with the selected steps and nodes: without them it could do something else."""
    options: list[tuple[str, Sequence[str]]] = [
        ("--only", selection.only),
        ("--skip", selection.skip),
        ("--node", selection.targets),
        ("--take-over", take_over or ()),
        ("--prune", prune or ()),
        ("--allow", allow or ()),
    ]
    words = [
        verb,
        "-i",
        str(folder),
        *(word for name, values in options for value in values for word in (name, value)),
    ]
    return f"talosmith {shlex.join(words)}"


def show_warnings(session: Session) -> None:
    """The inventory's warnings before the plan: among them the keys that are not built yet."""
    if session.warnings:
        from talosmith.report.problems import as_lines

        say(as_lines(session.warnings, Style(sys.stderr)))


def plan_data(plan: Plan[Any], warnings: Sequence[Problem]) -> dict[str, Any]:
    """Fields of kind Plan."""
    return {**plan.as_data(), "warnings": [problem_data(one) for one in warnings]}


def show(plan: Plan[Any], output: Output, warnings: Sequence[Problem] = ()) -> None:
    def text(style: Style) -> str:
        return fixes_pasteable(plan_report.as_text(plan, style, columns(sys.stdout)))

    emit(plan_data(plan, warnings), output, text, kind="Plan")


def show_unchanged(plan: Plan[Any], lines: RunLines) -> None:
    """The end of a command whose plan is empty."""
    if lines.active:
        lines.unchanged()
    else:
        show(plan, Output.TEXT)


def print_plan(plan: Plan[Any]) -> None:
    """For a run, whose stdout is its result."""
    say(fixes_pasteable(plan_report.as_text(plan, Style(sys.stderr), columns(sys.stderr))))


def columns(stream: TextIO) -> int | None:
    """Of the terminal; None where the stream is none: lines in files and pipes stay whole, for `grep`."""
    return max(shutil.get_terminal_size().columns, 40) if stream.isatty() else None


def refuse_blocked(plan: Plan[Any], output: Output = Output.TEXT) -> None:
    """Each cause is printed once: in the plan for people, in the error for programs."""
    if not plan.blocked:
        return
    if output is Output.TEXT:
        print_plan(plan)
        raise PlanBlocked("nothing was changed")
    raise PlanBlocked(f"nothing was changed, plan is blocked: {'; '.join(map(str, plan.blocked))}")


def digest_in(file: Path | None) -> str:
    """The digest of a saved plan; empty without a file."""
    if file is None:
        return ""
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["digest"])
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise UsageError(
            f"{file} is not a saved plan: {wrong or type(wrong).__name__}", hint="talosmith plan --out FILE"
        ) from None


def must_be(plan: Plan[Any], saved: str, file: Path | None) -> None:
    """A saved plan is run only while it is exactly what would be planned now."""
    if saved and saved != plan.digest:
        raise Permanent(
            f"saved plan is stale: cluster state changed since {file} was written",
            hint=f"review the new plan: talosmith plan --out {shlex.quote(str(file))}",
        )


def confirm(plan: Plan[Any], *, yes: bool, confirmed: str = "") -> None:
    """Ask before a plan is run. What the plan wants confirmed takes the cluster's name, typed or by --confirm."""
    if confirmed and confirmed != plan.cluster:
        raise UsageError(f"--confirm {confirmed} is not the cluster's name", hint=f"pass --confirm {plan.cluster}")
    if plan.confirm and confirmed:
        return
    if yes and plan.confirm:
        raise UsageError(
            f"--yes does not cover this: {'; '.join(plan.confirm)}",
            hint=f"to confirm it, pass --confirm {plan.cluster}",
        )
    if yes:
        return
    if not sys.stdin.isatty():
        option = f"--confirm {plan.cluster}" if plan.confirm else "--yes"
        raise UsageError("confirmation needed: stdin is not a terminal", hint=f"read the plan, then pass {option}")
    if plan.confirm:
        question = f"Type the cluster's name ({plan.cluster}) to continue"
        typed = typer.prompt(question, default="", show_default=False, err=True)
        if typed.strip() != plan.cluster:
            raise Permanent("nothing was changed: the typed name is not the cluster's name")
    elif not typer.confirm("Continue?", err=True):
        raise Permanent("nothing was changed")


def told_taking_over(lock: ClusterLock, *, forced: bool) -> None:
    if lock.took_from is not None:
        holder = str(lock.took_from)
        say(f"broke the lock of {holder}" if forced else f"took over the lock of {holder}: its process was killed")


def told_waiting(holder: Holder) -> None:
    say(f"waiting for {holder}")
