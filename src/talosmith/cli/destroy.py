"""`talosmith destroy`"""

from __future__ import annotations

import asyncio

from talosmith.cli import planning
from talosmith.cli.options import (
    EnvironmentOption,
    InventoryOption,
    NodeOption,
    Output,
    OutputOption,
    application,
    say,
)
from talosmith.cli.planning import ConfirmOption, LimitOption, UnlockOption, WaitOption, YesOption
from talosmith.cli.run_lines import RunLines
from talosmith.errors import ExitCode
from talosmith.session import Session

_SUMMARY = "Delete the cluster's machines and disks, or reset the nodes of machines that stay. The secrets are kept."

app = application(_SUMMARY)


@app.command()
def destroy(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    node: NodeOption = None,
    yes: YesOption = False,
    confirm: ConfirmOption = "",
    limit: LimitOption = None,
    force_unlock: UnlockOption = "",
    wait: WaitOption = 0.0,
    output: OutputOption = Output.TEXT,
) -> int:
    """Delete the cluster's machines and disks, or reset the nodes of machines that stay. The secrets are kept.

    The whole cluster and control planes take the cluster's name as confirmation: typed, or with --confirm.
    See what would be deleted with `talosmith plan --destroy`.
    """

    lines = RunLines("destroy", output)

    async def run() -> int:
        async with (
            Session.open(inventory, environment) as session,
            session.writing("destroy", force_unlock=force_unlock, wait=wait, waiting=planning.told_waiting) as lock,
        ):
            lines.cluster = session.cluster.name
            planning.told_taking_over(lock, forced=bool(force_unlock))
            selection = planning.selected(None, None, node)
            plan = await session.plan("destroy", selection)
            planning.refuse_blocked(plan, output)
            if plan.empty:
                planning.show_unchanged(plan, lines)
                return ExitCode.DONE
            planning.print_plan(plan)
            say("All data on these machines is lost. The secrets are kept.")
            planning.confirm(plan, yes=yes, confirmed=confirm)
            again = planning.command_line("destroy", session.folder, selection)
            from talosmith.cli.run_plan import carry_out

            code = await carry_out(session, plan, lines, again=again, limit=limit)
            if code == ExitCode.DONE and not selection.targets:
                from talosmith.steps.merging import contexts_of

                for file, command in contexts_of(session.desired.bundle):
                    say(f"note: {file} still has a context of this cluster; delete it: {command}")
            return code

    return lines.reported(lambda: asyncio.run(run()))
