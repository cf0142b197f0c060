"""Machines: create, power on, resize, delete."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from talosmith.desired.target import StepConfig
from talosmith.errors import Permanent
from talosmith.model.machines import Machine, MachineSpec
from talosmith.model.resources import SettingChange
from talosmith.plan.step import Disruption, Report, Stage
from talosmith.providers.base import CanResize, HasSeeds
from talosmith.providers.progress import reporting_to
from talosmith.steps.action import OnNode
from talosmith.steps.context import Context
from talosmith.steps.gate import through_gate
from talosmith.steps.nodes import until_ready


@dataclass(frozen=True, slots=True)
class CreateMachine(OnNode):
    """`host_calls`: what the provider may change on the host besides, such as a network that is missing.

    `own`: the config of its seed, where it is not the inventory's.
    """

    host_calls: tuple[str, ...] = ()
    own: StepConfig | None = None
    new: tuple[SettingChange, ...] = ()

    area: ClassVar[str] = "machine"
    stage: ClassVar[Stage] = "machines"
    limit: ClassVar[float] = 900.0

    @property
    def settings(self) -> tuple[SettingChange, ...]:
        return self.new

    def describe(self) -> str:
        return f"create machine{self.own or ''}"

    def calls(self) -> tuple[str, ...]:
        return ("machine:create", *self.host_calls)

    async def done(self, context: Context) -> bool:
        return self.name in context.machines and not context.machines[self.name].unfinished

    async def run(self, context: Context, report: Report) -> None:
        wanted = context.node(self.name)
        context.check_lock()
        seed = (self.own or wanted).config if context.provider.seeds else None
        if seed is not None and context.desired.cluster.endpoint.to_come:
            raise Permanent(
                f"{self.name}: the endpoint of the Kubernetes API is not known", hint="re-run the same command"
            )
        with reporting_to(partial(report, phase="no-machine")):
            context.machines[self.name] = await context.provider.create(wanted.machine, seed)


@dataclass(frozen=True, slots=True)
class PowerOn(OnNode):
    area: ClassVar[str] = "machine"
    verb: ClassVar[str] = "power"
    stage: ClassVar[Stage] = "machines"
    makes: ClassVar[tuple[str, ...]] = ("machine:power",)

    def describe(self) -> str:
        return "power on machine"

    async def run(self, context: Context, report: Report) -> None:
        context.check_lock()
        await context.provider.power(context.machines[self.name], True)
        await context.machine_now(self.name)


@dataclass(frozen=True, slots=True)
class ForgetSeed(OnNode):
    """The disk with its config is not needed once the node runs from its own, and it holds the cluster's secrets."""

    host_calls: tuple[str, ...] = ()

    area: ClassVar[str] = "machine"
    verb: ClassVar[str] = "seed"
    stage: ClassVar[Stage] = "seeds"

    def describe(self) -> str:
        return "detach and delete NoCloud seed"

    def calls(self) -> tuple[str, ...]:
        return ("machine:forget-seed", *self.host_calls)

    async def run(self, context: Context, report: Report) -> None:
        provider = context.provider
        if not isinstance(provider, HasSeeds):
            return
        context.check_lock()
        if await provider.forget_seed(context.machines[self.name]):
            context.note(f"{self.name}: NoCloud seed with the machine config is detached and deleted")


@dataclass(frozen=True, slots=True)
class ResizeMachine(OnNode):
    """The machine is off meanwhile, unless only its disks grow and it can have that while it runs."""

    change: str = ""
    controlplane: bool = False
    running: bool = False
    host_calls: tuple[str, ...] = ()
    changed: tuple[SettingChange, ...] = ()

    area: ClassVar[str] = "machine"
    verb: ClassVar[str] = "resize"
    stage: ClassVar[Stage] = "machines"
    limit: ClassVar[float] = 900.0

    @property
    def disruption(self) -> Disruption:
        return "none" if self.running else "reboot"

    @property
    def settings(self) -> tuple[SettingChange, ...]:
        return self.changed

    def describe(self) -> str:
        other = f": {self.change}" if self.change else ""
        return f"resize machine{' while it runs' if self.running else ', with a reboot'}{other}"

    def calls(self) -> tuple[str, ...]:
        return ("machine:resize", *(() if self.running else ("machine:power",)), *self.host_calls)

    async def run(self, context: Context, report: Report) -> None:
        provider = context.provider
        if not isinstance(provider, CanResize):
            raise Permanent(f"{provider.name} cannot change the size of a machine", hint="replace the node")
        wanted = context.node(self.name).machine
        if self.running:
            machine = await context.machine_now(self.name)
            grown = machine.disks_mib != wanted.disks_mib or any(one.name == "disk" for one in self.changed)
            if not fits(machine, wanted):
                if not only_grows(machine, wanted):
                    raise Permanent(
                        f"{self.name}: the machine was changed since the plan", hint="re-run the same command"
                    )
                context.check_lock()
                context.machines[self.name] = await provider.resize(machine, wanted)
            if grown:
                context.note(f"{self.name}: disks are larger; Talos grows its partitions at the next boot")
            return
        async with through_gate(context, self.name, "restart", self.controlplane, report):
            machine = await context.machine_now(self.name)
            if not fits(machine, wanted):  # else it was done before, and only the answer was lost
                context.check_lock()
                with reporting_to(report):
                    context.machines[self.name] = await provider.resize(machine, wanted)
            await until_ready(context, self.name, report)


def fits(machine: Machine, wanted: MachineSpec) -> bool:
    """It has the size that it should have, as far as the inventory and the provider tell."""
    disks = not wanted.disks_mib or not machine.disks_mib or machine.disks_mib == wanted.disks_mib
    pairs = ((machine.cpu, wanted.cpu), (machine.ram_mib, wanted.ram_mib))
    outdated = machine.outdated or machine.outdated_running
    return not outdated and disks and all(not found or not size or found == size for found, size in pairs)


def only_grows(machine: Machine, wanted: MachineSpec) -> bool:
    """Nothing but larger disks and what else changes while it runs is asked for, and the provider can do that."""
    as_many = len(machine.disks_mib) == len(wanted.disks_mib)
    return machine.grows and as_many and fits(replace(machine, disks_mib=(), outdated_running=""), wanted)


@dataclass(frozen=True, slots=True)
class DestroyMachine(OnNode):
    """`host_calls`: what goes with the last machine, such as a network of the cluster's own."""

    host_calls: tuple[str, ...] = ()

    area: ClassVar[str] = "machine"
    verb: ClassVar[str] = "destroy"
    stage: ClassVar[Stage] = "removal"
    limit: ClassVar[float] = 600.0

    def calls(self) -> tuple[str, ...]:
        return ("machine:destroy", *self.host_calls)

    @property
    def disruption(self) -> Disruption:
        return "wipe"

    def describe(self) -> str:
        return "delete machine and disks"

    async def done(self, context: Context) -> bool:
        return self.name not in context.machines

    async def run(self, context: Context, report: Report) -> None:
        context.check_lock()
        await context.provider.destroy(context.machines[self.name])
        del context.machines[self.name]
