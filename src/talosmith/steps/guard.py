"""The way through the safety gate: nobody disturbs a control plane but by this.

etcd is looked at right before the act, by every member that answers, and one control plane is worked on at a time.
What the plan thought of it is not asked again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from talosmith.observed.etcd import look_at_etcd
from talosmith.plan.gate import Act, EtcdView, judge
from talosmith.plan.step import Report
from talosmith.steps.context import Context
from talosmith.steps.waiting import until


@asynccontextmanager
async def through_gate(
    context: Context, name: str, act: Act, controlplane: bool, report: Report
) -> AsyncIterator[EtcdView | None]:
    """Inside, the act is allowed and nobody else's turn; workers pass at once."""
    if not controlplane:
        yield None
        return
    report("waiting for its turn: one control plane at a time")
    async with context.turn:
        view = await until(lambda: _allowed(context, name, act, report), report, "etcd")
        with context.working_on([name]):
            yield view


async def _allowed(context: Context, name: str, act: Act, report: Report) -> EtcdView | None:
    """etcd once it allows the act. A refusal may pass (a member catches up); the step's limit says for how long."""
    view = await etcd_view(context)
    verdict = judge(act, name, view, away=frozenset(context.away))
    if verdict:
        report(verdict.reason)
        return view
    report(f"not allowed yet: {verdict.reason}")
    return None


async def etcd_view(context: Context) -> EtcdView | None:
    names = [*(node.name for node in context.desired.controlplanes), *_former(context)]
    return await look_at_etcd([context.configured(name) for name in names])


def _former(context: Context) -> list[str]:
    """Control planes that the inventory no longer has, but that are still there."""
    return [
        name
        for name, machine in context.machines.items()
        if machine.role == "controlplane" and name not in context.desired.nodes
    ]
