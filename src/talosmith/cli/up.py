"""`talosmith up`"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from talosmith.cli import planning
from talosmith.cli.allow import AllowOption
from talosmith.cli.options import (
    Duration,
    EnvironmentOption,
    InventoryOption,
    NodeOption,
    Output,
    OutputOption,
    application,
    say,
)
from talosmith.cli.planning import (
    ConfirmOption,
    LimitOption,
    OnlyOption,
    PruneOption,
    SkipOption,
    TakeOverOption,
    UnlockOption,
    WaitOption,
    YesOption,
)
from talosmith.cli.run_lines import RunLines
from talosmith.errors import ExitCode, Permanent
from talosmith.plan.step import Plan
from talosmith.providers.base import Finding
from talosmith.report import findings
from talosmith.report import health as health_report
from talosmith.report.style import Style
from talosmith.session import Session

_PATIENCE = 300.0  # seconds: an installation and a reboot, of a machine that another run has configured

app = application("Bring the cluster up, or back in sync with the inventory. Safe to re-run after any interruption.")


@app.command()
def up(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[PLAN]", help="A plan saved by `talosmith plan --out`; refused if stale."),
    ] = None,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    only: OnlyOption = None,
    skip: SkipOption = None,
    node: NodeOption = None,
    yes: YesOption = False,
    confirm: ConfirmOption = "",
    new_secrets: Annotated[
        bool, typer.Option("--new-secrets", help="Create secrets if the cluster has none: for a new cluster.")
    ] = False,
    trust_first_use: Annotated[
        bool,
        typer.Option(
            "--trust-first-use", help="Apply machine configs also to machines whose fingerprint is not known."
        ),
    ] = False,
    health_limit: Annotated[
        float, Duration("--health-limit", help="How long to wait for a healthy cluster.", least=1)
    ] = 900.0,
    limit: LimitOption = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Also merge the cluster into your talosconfig and kubeconfig.")
    ] = False,
    take_over: TakeOverOption = None,
    prune: PruneOption = None,
    allow: AllowOption = None,
    timeline: Annotated[
        Path | None, typer.Option("--timeline", metavar="FILE", help="Where to write the timeline (HTML).")
    ] = None,
    force_unlock: UnlockOption = "",
    wait: WaitOption = 0.0,
    output: OutputOption = Output.TEXT,
) -> int:
    """Bring the cluster up, or back in sync with the inventory. Safe to re-run after any interruption."""

    lines = RunLines("up", output)

    async def run() -> int:
        saved = planning.digest_in(file)
        async with Session.open(inventory, environment, new_secrets=new_secrets, allow=allow or ()) as session:
            selection = planning.selected(only, skip, node)
            session.tell = say
            planning.show_warnings(session)
            async with session.writing(
                "up", force_unlock=force_unlock, wait=wait, waiting=planning.told_waiting
            ) as lock:
                lines.cluster = session.cluster.name
                planning.told_taking_over(lock, forced=bool(force_unlock))
                addons = planning.addon_options(take_over, prune, session)
                plan = await session.plan("up", selection, health_limit=health_limit, **addons)
                planning.refuse_blocked(plan, output)
                if plan.empty:
                    # A run that was killed may have ended before its health check.
                    health = await session.health(say, health_limit, ends_without_cni=True)
                    planning.show_unchanged(plan, lines)
                    _merge(session, wanted=merge)
                    if not health.healthy:
                        say(health_report.causes_as_text(health, Style(sys.stderr)))
                    return _in_sync(plan, ExitCode.DONE if health.healthy else ExitCode.UNHEALTHY)
                planning.must_be(plan, saved, file)
                await _preflight(session, min(limit or _PATIENCE, _PATIENCE))
                planning.print_plan(plan)
                planning.confirm(plan, yes=yes, confirmed=confirm)
                from talosmith.cli.run_plan import carry_out

                code = await carry_out(
                    session,
                    plan,
                    lines,
                    again=planning.command_line("up", session.folder, selection, take_over, prune, allow),
                    trust_first_use=trust_first_use,
                    timeline=timeline,
                    limit=limit,
                )
                # A cluster that lacks only its CNI is not healthy, and its kubeconfig is what installs one.
                _merge(session, wanted=merge and code in (ExitCode.DONE, ExitCode.UNHEALTHY))
                return _in_sync(plan, code)

    return lines.reported(lambda: asyncio.run(run()))


def _in_sync(plan: Plan[Any], code: int) -> int:
    """A run that ends well leaves versions that `up` does not upgrade: then the cluster is not in sync."""
    return ExitCode.CHANGES_PENDING if code == ExitCode.DONE and plan.drift_left else code


def _merge(session: Session, *, wanted: bool) -> None:
    if wanted:
        from talosmith.client_files import merge_written

        for path, name in merge_written(session):
            say(f"{path} has the context {name}")


async def _preflight(session: Session, patience: float) -> None:
    """Check the provider and the machines before anything is changed. Machines that boot are waited for."""
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
