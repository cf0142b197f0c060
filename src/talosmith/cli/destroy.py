"""`talosmith destroy`"""

from __future__ import annotations

import asyncio
import sys

from talosmith.cli import operating
from talosmith.cli.operating import LimitOption, TargetOption, UnlockOption, WaitOption, YesOption
from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, say
from talosmith.errors import ExitCode
from talosmith.operations import destroy as operation
from talosmith.report import plan as plan_report
from talosmith.report.style import Style
from talosmith.session import Session

app = application("Take the cluster's machines away, or reset those that stay. Its secrets are kept.")


@app.command()
def destroy(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    target: TargetOption = None,
    yes: YesOption = False,
    limit: LimitOption = None,
    force_unlock: UnlockOption = "",
    wait: WaitOption = 0.0,
    output: OutputOption = Output.TEXT,
) -> int:
    """Take the cluster's machines away, or reset those that stay. Its secrets are kept."""

    async def run() -> int:
        async with (
            Session.open(inventory, environment) as session,
            session.writing("destroy", force_unlock=force_unlock, wait=wait, waiting=operating.told_waiting) as lock,
        ):
            operating.told_taking_over(lock, forced=bool(force_unlock))
            selection = operating.selected(None, None, target)
            plan = await session.plan(operation, operation.DestroyOptions(selection=selection))
            operating.refuse_blocked(plan)
            if plan.empty:
                operating.show(plan, output)
                return ExitCode.DONE
            say(plan_report.as_text(plan, Style(sys.stderr)))
            say("Everything on these machines is lost. The secrets stay.")
            operating.confirm(plan, yes=yes, name=session.cluster.name)
            again = operating.command_line("destroy", session.folder, selection)
            from talosmith.cli.run_plan import carry_out

            return await carry_out(session, plan, output, again=again, limit=limit)

    return asyncio.run(run())
