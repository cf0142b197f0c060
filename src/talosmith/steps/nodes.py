"""Nodes that have their config: restarting them, and waiting until they do their work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from talosmith.errors import Temporary
from talosmith.observed.etcd import FELL_BACK, FELL_BACK_FIX
from talosmith.plan.step import Disruption, Report, Stage
from talosmith.steps.action import OnNode
from talosmith.steps.context import Context
from talosmith.steps.gate import through_gate
from talosmith.steps.machine_status import statuses
from talosmith.talos import InMaintenance, TalosNode
from talosmith.waiting import now, pause, until


@dataclass(frozen=True, slots=True)
class Reboot(OnNode):
    """For a config that is staged already and waits for it."""

    controlplane: bool = False

    verb: ClassVar[str] = "reboot"
    stage: ClassVar[Stage] = "configs"
    limit: ClassVar[float] = 900.0
    makes: ClassVar[tuple[str, ...]] = ("talos:Reboot",)

    @property
    def disruption(self) -> Disruption:
        return "reboot"

    def describe(self) -> str:
        return "reboot it"

    async def done(self, context: Context) -> bool:
        """The node runs with the config that it keeps, and if the gate let the reboot through, it is back."""
        return context.disturbed != self.name and await self._none_staged(context)

    async def _none_staged(self, context: Context) -> bool:
        node = context.configured(self.name)
        return await node.machine_config() == await node.machine_config(persistent=True)

    async def run(self, context: Context, report: Report) -> None:
        async with through_gate(context, self.name, "restart", self.controlplane, report):
            if await self._none_staged(context):
                await until_ready(context, self.name, report)
            else:
                await restart(context, self.name, report)


@dataclass(frozen=True, slots=True)
class Joined(OnNode):
    """Talos' own judgement: all services run, and Kubernetes has the node as ready."""

    verb: ClassVar[str] = "joined"
    stage: ClassVar[Stage] = "nodes"
    limit: ClassVar[float] = 900.0

    def describe(self) -> str:
        return "wait until it is ready"

    async def done(self, context: Context) -> bool:
        return await _is_ready(context, self.name)

    async def run(self, context: Context, report: Report) -> None:
        await until_ready(context, self.name, report)


async def restart(context: Context, name: str, report: Report) -> None:
    """Reboots the node and waits until it is back and ready. Talos itself empties it first."""
    node = context.configured(name)
    before = await node.boot_id()
    context.may_write()
    await node.reboot()
    await until(lambda: _rebooted(node, before), report, "waiting for it to come back")
    await until_ready(context, name, report)


async def until_ready(context: Context, name: str, report: Report) -> None:
    """By watching; a connection that ends (it reboots, or is slow to come) is made again."""
    began = now()
    while True:
        try:
            async for status in statuses(context.configured(name)):
                unmet = [one for one in status.unmet if not expected_unmet(context, one.name)]
                if status.stage == "running" and not unmet:
                    return
                reasons = ", ".join(f"{one.name}: {one.reason}" for one in unmet)
                report(f"{status.stage}{': ' + reasons if reasons else ''}")
        except InMaintenance:
            report(f"{name} is {FELL_BACK}", FELL_BACK_FIX)
        except Temporary as wrong:
            report(str(wrong), wrong.hint)
        await pause(now() - began)


def expected_unmet(context: Context, condition: str) -> bool:
    """Without a CNI no node gets ready; who chose that brings one later."""
    cni = context.desired.cluster.kubernetes.cni
    return condition == "nodeReady" and cni is not None and cni.name == "none"


async def answers(node: TalosNode) -> bool:
    """Whether it has this cluster's config, by its certificate."""
    try:
        await node.version(timeout=5.0)
    except Temporary:
        return False
    return True


async def answer(node: TalosNode) -> bool | None:
    """As `answers`, for who waits: raises why it does not."""
    await node.version(timeout=5.0)
    return True


async def _is_ready(context: Context, name: str) -> bool:
    try:
        status = await context.configured(name).machine_status()
    except Temporary:
        return False
    return status.stage == "running" and all(expected_unmet(context, one.name) for one in status.unmet)


async def _rebooted(node: TalosNode, before: str) -> bool | None:
    return True if await node.boot_id() != before else None
