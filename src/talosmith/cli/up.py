"""`talosmith up`"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli import operating
from talosmith.cli.operating import (
    ConfirmOption,
    LimitOption,
    OnlyOption,
    SkipOption,
    TargetOption,
    UnlockOption,
    WaitOption,
    YesOption,
)
from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, say
from talosmith.errors import ExitCode, Permanent
from talosmith.providers.base import Finding
from talosmith.report import findings
from talosmith.report import plan as plan_report
from talosmith.report.style import Style
from talosmith.session import Session

_PATIENCE = 300.0  # seconds: an installation and a reboot, of a machine that another run has configured

app = application("Bring the cluster up, or back to what the inventory says. Killed anywhere, run it again.")


@app.command()
def up(
    file: Annotated[
        Path | None, typer.Argument(metavar="[PLAN]", help="A plan of `talosmith plan --out`, if it still holds.")
    ] = None,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    only: OnlyOption = None,
    skip: SkipOption = None,
    target: TargetOption = None,
    yes: YesOption = False,
    confirm: ConfirmOption = "",
    new_secrets: Annotated[
        bool, typer.Option("--new-secrets", help="If the cluster has no secrets yet, make them: it is a new one.")
    ] = False,
    trust_first_use: Annotated[
        bool,
        typer.Option(
            "--trust-first-use", help="Give configs also to machines whose fingerprint nobody has told; it is noted."
        ),
    ] = False,
    health_limit: Annotated[
        float,
        typer.Option("--health-limit", metavar="SECONDS", help="How long to wait for a healthy cluster.", min=1),
    ] = 900.0,
    limit: LimitOption = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Put the cluster into your own talosconfig and kubeconfig, too.")
    ] = False,
    timeline: Annotated[Path | None, typer.Option("--timeline", help="Where to write the timeline (HTML).")] = None,
    force_unlock: UnlockOption = "",
    wait: WaitOption = 0.0,
    output: OutputOption = Output.TEXT,
) -> int:
    """Bring the cluster up, or back to what the inventory says. Killed anywhere, run it again."""

    saved = operating.digest_in(file)

    async def run() -> int:
        async with Session.open(inventory, environment, new_secrets=new_secrets) as session:
            selection = operating.selected(only, skip, target)
            async with session.writing(
                "up", force_unlock=force_unlock, wait=wait, waiting=operating.told_waiting
            ) as lock:
                operating.told_taking_over(lock, forced=bool(force_unlock))
                observed = await session.observe()
                from talosmith.operations import up as operation

                options = operation.UpOptions(selection=selection, health_limit=health_limit)
                plan = await session.plan(operation, options, observed)
                operating.refuse_blocked(plan)
                if plan.empty:
                    await session.health(say, health_limit)  # a run that was killed may have left that out
                    operating.show(plan, output)
                    _merge(session, wanted=merge)
                    return ExitCode.DONE
                operating.must_be(plan, saved, file)
                await _preflight(session, min(limit or _PATIENCE, _PATIENCE))
                say(plan_report.as_text(plan, Style(sys.stderr)))
                operating.confirm(plan, yes=yes, confirmed=confirm)
                from talosmith.cli.run_plan import carry_out

                code = await carry_out(
                    session,
                    plan,
                    output,
                    again=operating.command_line("up", session.folder, selection),
                    trust_first_use=trust_first_use,
                    timeline=timeline,
                    limit=limit,
                )
                _merge(session, wanted=merge and code == ExitCode.DONE)
                return code

    return asyncio.run(run())


def _merge(session: Session, *, wanted: bool) -> None:
    for path, name in session.merge_files() if wanted else ():
        say(f"{path} has the context {name}")


async def _preflight(session: Session, patience: float) -> None:
    """Nothing is changed if one of the things that matter first is wrong. Machines that boot are waited for."""
    waited: set[str] = set()

    def waiting(finding: Finding) -> None:
        if finding.check not in waited:
            waited.add(finding.check)
            say(f"{findings.waiting(finding)} (up to {patience:g} s)")

    looked = await session.preflight(waiting, patience=patience)
    found = [finding for finding in looked if finding.level != "ok" or finding.check in waited]
    if found:
        say(findings.as_text(found, Style(sys.stderr)))
    if any(finding.level == "error" for finding in found):
        raise Permanent("nothing was changed: this machine or provider is not ready", hint="see `talosmith doctor`")
