"""What commands that plan have in common: their options, the plan as it is shown, the question before it is run."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talosmith.cli.options import Output, emit, say
from talosmith.errors import Permanent, UsageError
from talosmith.plan.builder import Selection
from talosmith.plan.step import Plan
from talosmith.report import plan as plan_report
from talosmith.report.style import Style

if TYPE_CHECKING:
    from talosmith.engine.holder import Holder
    from talosmith.engine.lock import ClusterLock

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
