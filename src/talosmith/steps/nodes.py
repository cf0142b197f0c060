"""Nodes: giving them their config, changing it, restarting them, and waiting until they do their work."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from talosmith.desired.config.load import load
from talosmith.desired.target import config_digest
from talosmith.errors import Permanent, TalosmithError, Temporary
from talosmith.observed.etcd import FELL_BACK, FELL_BACK_FIX
from talosmith.plan.step import Disruption, Report, Stage
from talosmith.providers.base import HasConsole
from talosmith.steps.action import OnNode
from talosmith.steps.components import until_components_current
from talosmith.steps.context import Context
from talosmith.steps.gate import through_gate
from talosmith.steps.install_disk import check_install_disk, without_match
from talosmith.steps.machine_status import statuses
from talosmith.talos import (
    ApplyMode,
    InMaintenance,
    Invalid,
    NotFound,
    NotInMaintenance,
    NotReady,
    NotTrusted,
    TalosError,
    TalosNode,
)
from talosmith.waiting import pause, until

_TRY_FOR = timedelta(seconds=60)
_CONSOLE_AFTER = 120.0  # seconds without an answer, until its console is worth a look
_CONSOLE_LINES = 5
_ON_THE_WAY = ("maintenance", "installing", "rebooting")  # stages from the first config to the first boot with it
_NOT_SO_SOON = 0.1  # seconds: each look is a whole handshake, and an installation takes longer
_READS_ONCE = (
    "see what its console says. If the inventory was wrong about its network: a machine reads its config only once, "
    "so correct it, then `talosmith destroy --target {name}` and `talosmith up`"
)
_STEADY = 3  # answers in a row after a change of the network


@dataclass(frozen=True, slots=True)
class FirstConfig(OnNode):
    """From maintenance mode to a node that answers with this cluster's certificate."""

    verb: ClassVar[str] = "config"
    stage: ClassVar[Stage] = "configs"
    limit: ClassVar[float] = 900.0
    makes: ClassVar[tuple[str, ...]] = ("talos:ApplyConfiguration",)

    def describe(self) -> str:
        return "give it its config"

    async def done(self, context: Context) -> bool:
        return await answers(context.configured(self.name))

    async def run(self, context: Context, report: Report) -> None:
        before = "" if context.provider.seeds else await self._apply(context, report)
        began = time.monotonic()

        async def look() -> bool | None:
            node = context.configured(self.name)
            try:
                await _answer(node)
                await _installed(node)
                return True
            except InMaintenance as waiting:
                if before and waiting.said not in ("", before):
                    what = "the machine config was applied, and the machine has booted since"
                    raise Permanent(f"{self.name} is {FELL_BACK}; {what}", hint=FELL_BACK_FIX) from None
                raise Temporary(str(waiting), hint=FELL_BACK_FIX) from None
            except Temporary as silent:
                if time.monotonic() - began < _CONSOLE_AFTER:
                    raise
                hint = _READS_ONCE.format(name=self.name) if context.provider.seeds else silent.hint
                raise Temporary(f"{silent}{await _console(context, self.name)}", hint=hint) from None

        what = "waiting for Talos with its config"
        await until(look, report, what, stop=context.stop_wanted, soon=_NOT_SO_SOON)

    async def _apply(self, context: Context, report: Report) -> str:
        """The fingerprint that the machine had in maintenance mode; empty if it is beyond that."""
        node = await self._find(context, report)
        if node is not None:
            with suppress(NotInMaintenance):  # another run may be quicker at any moment
                return await self._apply_to(context, node)
        # Whether the machine config is this cluster's the certificate will tell.
        report(f"another run, or an earlier attempt, configures {self.name}: waiting")
        return ""

    async def _apply_to(self, context: Context, node: TalosNode) -> str:
        seen = await node.fingerprint()
        if not context.fingerprint(self.name):
            if context.provider.creates:  # it may tell only once the machine is on
                await context.machine_now(self.name)
            if context.fingerprint(self.name):
                raise Temporary(f"{self.name} is asked again, now that its fingerprint is known", retry_after=0.0)
            if not context.options.trust_first_use:
                raise Permanent(
                    f"nothing proves that the machine at {node.address} is {self.name}: its fingerprint is {seen}",
                    hint=f"compare it with its console and write `fingerprint: {seen}` to the node in the inventory, "
                    "or trust the network this once with --trust-first-use",
                )
            context.told(f"{self.name}: trusted at first use, with the fingerprint {seen}")
        config = context.node(self.name).config
        await check_install_disk(node, config)
        context.may_write()
        try:
            await node.apply_config(config)
        except Invalid as refused:
            raise await without_match(node, refused) from None
        return seen

    async def _find(self, context: Context, report: Report) -> TalosNode | None:
        """The node in maintenance mode at one of the places where it may be; None if it is beyond that."""

        async def look() -> tuple[TalosNode | None]:
            wrong: TalosError | None = None
            for place in context.waiting_places(self.name):
                node = context.maintenance.node(place, self.name, fingerprint=context.fingerprint(self.name))
                try:
                    await node.connect()
                except NotInMaintenance:
                    return (None,)
                except NotTrusted as problem:
                    wrong = await _since_booted(context, self.name) or problem
                except TalosError as problem:
                    wrong = problem
                else:
                    return (node,)
            if wrong is None or isinstance(wrong, Temporary):
                raise wrong or Temporary(f"{self.name}: no address to look for it")
            raise wrong

        return (await until(look, report, "waiting for maintenance mode", stop=context.stop_wanted))[0]


@dataclass(frozen=True, slots=True)
class ChangeConfig(OnNode):
    """A new config on a node that has one.

    What Talos takes up at once needs no reboot. A change of the network is tried first: a node that it cuts off goes
    back to the config before by itself. What reboots a control plane, restarts its Kubernetes components or changes
    its network passes the gate.
    """

    reboot: bool = False
    network: bool = False
    controlplane: bool = False
    restarts: bool = False  # components of the control plane

    verb: ClassVar[str] = "config"
    stage: ClassVar[Stage] = "configs"
    limit: ClassVar[float] = 900.0

    @property
    def disruption(self) -> Disruption:
        return "reboot" if self.reboot else "restart" if self.restarts else "none"

    def describe(self) -> str:
        if self.reboot:
            return "change its config and reboot it"
        return "change its config without a reboot" + (", trying it for a minute first" if self.network else "")

    def calls(self) -> tuple[str, ...]:
        return ("talos:ApplyConfiguration", *(("talos:Reboot",) if self.reboot else ()))

    async def done(self, context: Context) -> bool:
        """In use and kept; and if the gate let the change through, it has seen the node come back."""
        return context.disturbed != self.name and await self._in_use(context)

    async def _in_use(self, context: Context) -> bool:
        node, wanted = context.configured(self.name), context.node(self.name).digest
        running = config_digest(load((await node.machine_config()).reveal(), self.name))
        kept = config_digest(load((await node.machine_config(persistent=True)).reveal(), self.name))
        return running == kept == wanted

    async def run(self, context: Context, report: Report) -> None:
        node = context.configured(self.name)
        config = context.node(self.name).config
        if not self.reboot:
            gated = self.controlplane and (self.restarts or self.network)
            async with through_gate(context, self.name, "change", gated, report):
                await self._apply_without_reboot(context, node, report)
            return
        async with through_gate(context, self.name, "restart", self.controlplane, report):
            if await self._in_use(context):  # an earlier try did it, and was cut short while the node came back
                await until_ready(context, self.name, report)
                return
            context.may_write()
            await node.apply_config(config, ApplyMode.STAGED)
            await restart(context, self.name, report)

    async def _apply_without_reboot(self, context: Context, node: TalosNode, report: Report) -> None:
        config = context.node(self.name).config
        if self.network:
            context.may_write()
            await node.apply_config(config, ApplyMode.TRY, try_for=_TRY_FOR)
            await _steady(context, self.name, report)
        context.may_write()
        await node.apply_config(config, ApplyMode.NO_REBOOT)
        if self.restarts:
            await until_components_current(context, self.name, report)


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


async def _since_booted(context: Context, name: str) -> NotReady | None:
    """Machines show another fingerprint after each boot. One that has booted since it was looked at has told it."""
    before = context.fingerprint(name)
    if not context.provider.creates or name not in context.machines:
        return None
    await context.machine_now(name)
    if context.fingerprint(name) == before:
        return None
    for place in context.waiting_places(name):
        await context.maintenance.forget(place)
    return NotReady(name, "has booted meanwhile")


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
    began = time.monotonic()
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
        await pause(time.monotonic() - began)


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


async def _answer(node: TalosNode) -> bool | None:
    await node.version(timeout=5.0)
    return True


async def _installed(node: TalosNode) -> None:
    """Raise `NotReady` until Talos is installed. If that fails, the node shows the cluster's certificate for a while
    and then falls back to maintenance mode."""
    with suppress(NotFound):
        stage = (await node.machine_status()).stage
        if stage in _ON_THE_WAY:
            raise NotReady(node.name, f"stage is {stage}")


async def _is_ready(context: Context, name: str) -> bool:
    try:
        status = await context.configured(name).machine_status()
    except Temporary:
        return False
    return status.stage == "running" and all(expected_unmet(context, one.name) for one in status.unmet)


async def _console(context: Context, name: str) -> str:
    """The end of what its machine wrote, where the provider can tell."""
    provider = context.provider
    if not isinstance(provider, HasConsole) or name not in context.machines:
        return ""
    try:
        lines = (await provider.console(context.machines[name], _CONSOLE_LINES)).splitlines()
    except TalosmithError as problem:
        return f"; its console cannot be read: {problem}"
    if not any(line.strip() for line in lines):
        return "; its console is empty: it has not begun to boot"
    return "; its console ends with: " + " | ".join(line.strip() for line in lines if line.strip())


async def _rebooted(node: TalosNode, before: str) -> bool | None:
    return True if await node.boot_id() != before else None


async def _steady(context: Context, name: str, report: Report) -> None:
    """The node is reached by the new network, several times over."""
    look: Callable[[], Awaitable[bool | None]] = lambda: _answer(context.configured(name))  # noqa: E731
    for _ in range(_STEADY):
        await context.configured(name).close()  # a connection of its own each time
        await until(look, report, "waiting for it on its changed network")
