"""What `up` and `destroy` do about machines, as a program: `python -c MACHINE_PART INVENTORY start|up|again|destroy`.

Talos is not asked, so nothing needs to be behind the machines. `start` ends before the host is asked.
"""

from __future__ import annotations

MACHINE_PART = """import sys, time
from pathlib import Path
import asyncio
from talosmith.cli import planning
from talosmith.cli.options import Output
from talosmith.observed.resources import look_at_resources
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.operations import destroy, up
from talosmith.operations.operation import Facts
from talosmith.plan.builder import Selection
from talosmith.providers.base import Capabilities
from talosmith.session import Session

async def main(folder, action):
    async with Session.open(folder) as session, session.writing(action):
        assert session.desired.nodes
        if action == "start":
            return
        machines = {one.name: one for one in await session.provider.find()}
        silent = Unknown("Talos is not asked")
        nodes = {
            name: NodeSeen(name=name, machine=machines.get(name), stage=silent if name in machines else None)
            for name in session.desired.nodes
        }
        resources = await look_at_resources(session.desired, session.provider)
        session.observed = Observed(at=time.time(), nodes=nodes, kubernetes=silent, resources=resources)
        facts = Facts(capabilities=Capabilities(resizes=True))
        if action == "destroy":
            plan = destroy.build(session.desired, session.observed, destroy.DestroyOptions(), facts)
        else:
            plan = up.build(session.desired, session.observed, up.UpOptions(), facts)
        steps = [step.key for step in plan if step.key.startswith("machine/")]
        assert len(steps) == (0 if action == "again" else len(nodes)), steps
        if action == "again":
            return planning.show(plan, Output.TEXT)
        if action == "up":
            wrong = [finding for finding in await session.preflight() if finding.level == "error"]
            assert not wrong, wrong
            chosen = up.UpOptions(selection=Selection(only=("machine/*", "resource/*")))
            plan = up.build(session.desired, session.observed, chosen, facts)
        from talosmith.cli.run_lines import RunLines
        from talosmith.cli.run_plan import carry_out
        code = await carry_out(session, plan, RunLines(action, Output.TEXT), again="")
        assert code == 0, code

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""
