"""A new machine config on a node that has one, in the least disturbing way that Talos has for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from talosmith.desired.config.load import load
from talosmith.desired.target import DesiredNode, StepConfig, config_digest
from talosmith.model.resources import SettingChange
from talosmith.plan.step import Disruption, Report, Stage, StepKey
from talosmith.steps.action import OnNode
from talosmith.steps.components import until_components_current
from talosmith.steps.context import Context
from talosmith.steps.gate import through_gate
from talosmith.steps.nodes import answer, restart, until_ready
from talosmith.talos import ApplyMode, TalosNode
from talosmith.waiting import until

_TRY_FOR = timedelta(seconds=60)
_STEADY = 3  # answers in a row after a change of the network


@dataclass(frozen=True, slots=True)
class ChangeConfig(OnNode):
    """A new config on a node that has one.

    What Talos takes up at once needs no reboot. A change of the network is tried first: a node that it cuts off goes
    back to the config before by itself. What reboots a control plane, restarts its Kubernetes components or changes
    its network passes the gate. `own`: a config between the one that the node has and the inventory's.
    """

    reboot: bool = False
    network: bool = False
    controlplane: bool = False
    restarts: bool = False  # components of the control plane
    own: StepConfig | None = None
    changed: tuple[SettingChange, ...] = ()

    verb: ClassVar[str] = "config"
    stage: ClassVar[Stage] = "configs"
    limit: ClassVar[float] = 900.0

    @property
    def key(self) -> StepKey:
        return StepKey(self.area, self.name, f"{self.verb}-{self.own.phase}" if self.own else self.verb)

    @property
    def disruption(self) -> Disruption:
        return "reboot" if self.reboot else "restart" if self.restarts else "none"

    @property
    def settings(self) -> tuple[SettingChange, ...]:
        return self.changed

    def describe(self) -> str:
        if self.reboot:
            return f"update machine config{self.own or ''}, with a reboot"
        tried = ", in try mode for 60 s first" if self.network else ""
        return f"update machine config{self.own or ''}, no reboot{tried}"

    def calls(self) -> tuple[str, ...]:
        return ("talos:ApplyConfiguration", *(("talos:Reboot",) if self.reboot else ()))

    async def done(self, context: Context) -> bool:
        """In use and kept; and if the gate let the change through, it has seen the node come back."""
        return context.disturbed != self.name and await self._in_use(context)

    async def _in_use(self, context: Context) -> bool:
        return await has_config(context.configured(self.name), self._wanted(context))

    def _wanted(self, context: Context) -> StepConfig | DesiredNode:
        return self.own or context.node(self.name)

    async def run(self, context: Context, report: Report) -> None:
        node = context.configured(self.name)
        config = self._wanted(context).config
        if not self.reboot:
            gated = self.controlplane and (self.restarts or self.network)
            async with through_gate(context, self.name, "change", gated, report):
                await self._apply_without_reboot(context, node, report)
            return
        async with through_gate(context, self.name, "restart", self.controlplane, report):
            if await self._in_use(context):  # an earlier try did it, and was cut short while the node came back
                await until_ready(context, self.name, report)
                return
            context.check_lock()
            await node.apply_config(config, ApplyMode.STAGED)
            await restart(context, self.name, report)

    async def _apply_without_reboot(self, context: Context, node: TalosNode, report: Report) -> None:
        config = self._wanted(context).config
        if self.network:
            context.check_lock()
            await node.apply_config(config, ApplyMode.TRY, try_for=_TRY_FOR)
            await _steady(context, self.name, report)
        context.check_lock()
        await node.apply_config(config, ApplyMode.NO_REBOOT)
        if self.restarts:
            await until_components_current(context, self.name, report)


async def has_config(node: TalosNode, wanted: StepConfig | DesiredNode) -> bool:
    """Whether the node runs with this config, and keeps it for its next boot."""
    running = config_digest(load((await node.machine_config()).reveal(), node.name))
    kept = config_digest(load((await node.machine_config(persistent=True)).reveal(), node.name))
    return running == kept == wanted.digest


async def _steady(context: Context, name: str, report: Report) -> None:
    """The node is reached by the new network, several times over."""
    for _ in range(_STEADY):
        await context.configured(name).close()  # a connection of its own each time
        await until(
            lambda: answer(context.configured(name)), report, "waiting for the Talos API on the changed network"
        )
