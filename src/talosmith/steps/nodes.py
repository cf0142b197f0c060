"""Nodes that have their machine config: rebooting them, and waiting for them to be Ready."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from talosmith.errors import Temporary
from talosmith.observed.etcd import FELL_BACK, FELL_BACK_FIX
from talosmith.observed.phase import phase_of_stage, unmet_text
from talosmith.plan.step import Disruption, Report, Stage
from talosmith.steps.action import OnNode
from talosmith.steps.context import Context
from talosmith.steps.gate import through_gate
from talosmith.steps.machine_status import statuses
from talosmith.talos import InMaintenance, TalosNode
from talosmith.waiting import now, pause, until


@dataclass(frozen=True, slots=True)
class Reboot(OnNode):
    """For a machine config that is staged and takes effect at the next boot."""

    controlplane: bool = False

    verb: ClassVar[str] = "reboot"
    stage: ClassVar[Stage] = "configs"
    limit: ClassVar[float] = 900.0
    makes: ClassVar[tuple[str, ...]] = ("talos:Reboot",)

    @property
    def disruption(self) -> Disruption:
        return "reboot"

    def describe(self) -> str:
        return "reboot node"

    async def done(self, context: Context) -> bool:
        """The node runs with the config that it boots with, and if the gate let the reboot through, it is back."""
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
    """All services run, and Kubernetes has the node as Ready, by the node's own MachineStatus.

    Where Talos installs no CNI (`without_cni`), nodes cannot be Ready before one is installed: services are enough.
    """

    without_cni: bool = False

    verb: ClassVar[str] = "joined"
    stage: ClassVar[Stage] = "nodes"
    limit: ClassVar[float] = 900.0

    def describe(self) -> str:
        return "wait for node to join" if self.without_cni else "wait for node to be Ready"

    async def done(self, context: Context) -> bool:
        return await _is_ready(context, self.name)

    async def run(self, context: Context, report: Report) -> None:
        await until_ready(context, self.name, report, is_member=False)


async def restart(context: Context, name: str, report: Report) -> None:
    """Reboot the node and wait for it to be Ready. Talos stops its pods, and does not drain it."""
    node = context.configured(name)
    before = await node.boot_id()
    context.check_lock()
    await node.reboot()
    rebooting = partial(report, phase="rebooting")
    await until(lambda: _rebooted(node, before), rebooting, "waiting for the node to come back from its reboot")
    await until_ready(context, name, report)


async def until_ready(context: Context, name: str, report: Report, *, is_member: bool = True) -> None:
    """By watching; a connection that ends (the node reboots, or boots slowly) is opened again.

    `is_member`: Kubernetes has had the node before.
    """
    began = now()
    down = partial(report, phase="unreachable" if is_member else "joining")
    while True:
        try:
            async for status in statuses(context.configured(name)):
                unmet = [one for one in status.unmet if not expected_unmet(context, one.name)]
                if status.stage == "running" and not unmet:
                    return
                reasons = unmet_text(f"{one.name}: {one.reason}" for one in unmet)
                phase = phase_of_stage(status.stage, is_member=is_member) or ("not-ready" if is_member else "joining")
                report(reasons or f"stage is {status.stage}", phase=phase)
        except InMaintenance:
            report(f"{name} is {FELL_BACK}", FELL_BACK_FIX, phase="maintenance")
        except Temporary as wrong:
            down(str(wrong), wrong.hint)
        await pause(now() - began)


def expected_unmet(context: Context, condition: str) -> bool:
    """Without a CNI no node is Ready; the health check at the end of the run reports that once, as the root cause."""
    return condition == "nodeReady" and context.desired.without_cni


async def answers(node: TalosNode) -> bool:
    """Whether the node has this cluster's machine config, by its certificate."""
    try:
        await node.version(timeout=5.0)
    except Temporary:
        return False
    return True


async def answer(node: TalosNode) -> bool | None:
    """As `answers`, but raises why it does not."""
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
