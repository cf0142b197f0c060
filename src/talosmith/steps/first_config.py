"""The first machine config: from maintenance mode to a node that answers with this cluster's certificate."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from talosmith.desired.target import StepConfig
from talosmith.errors import Permanent, TalosmithError, Temporary
from talosmith.observed.etcd import FELL_BACK, FELL_BACK_FIX
from talosmith.observed.phase import Phase
from talosmith.plan.step import Report, Stage
from talosmith.providers.base import HasConsole
from talosmith.steps.action import OnNode
from talosmith.steps.change_config import has_config
from talosmith.steps.context import Context
from talosmith.steps.install_disk import check_install_disk, without_match
from talosmith.steps.nodes import answer, answers
from talosmith.steps.unattended_install import check_installation
from talosmith.talos import (
    InMaintenance,
    Invalid,
    NotFound,
    NotInMaintenance,
    NotReady,
    NotTrusted,
    TalosError,
    TalosNode,
)
from talosmith.waiting import now, until

_CONSOLE_AFTER = 120.0  # seconds without an answer, until its console is worth a look
_CONSOLE_LINES = 5
_ON_THE_WAY = ("maintenance", "installing", "rebooting")  # stages from the first config to the first boot with it
_NOT_SO_SOON = 0.1  # seconds: each look is a whole handshake, and an installation takes longer
_READS_ONCE = (
    "see what its console says. If the inventory was wrong about its network: a machine reads its config only once, "
    "so correct it, then `talosmith destroy --node {name}` and `talosmith up`"
)


@dataclass(frozen=True, slots=True)
class FirstConfig(OnNode):
    """`own`: the config to apply, where it is not the inventory's."""

    own: StepConfig | None = None

    verb: ClassVar[str] = "config"
    stage: ClassVar[Stage] = "configs"
    limit: ClassVar[float] = 900.0
    makes: ClassVar[tuple[str, ...]] = ("talos:ApplyConfiguration",)

    def describe(self) -> str:
        return f"apply machine config{self.own or ''}"

    async def done(self, context: Context) -> bool:
        node = context.configured(self.name)
        return await answers(node) and (self.own is None or await has_config(node, self.own))

    async def run(self, context: Context, report: Report) -> None:
        before = "" if context.provider.seeds else await self._apply(context, report)
        began = now()
        phase: Phase = "booting"

        def note(text: str, hint: str = "") -> None:
            report(text, hint, phase=phase)

        async def look() -> bool | None:
            nonlocal phase
            node = context.configured(self.name)
            try:
                await answer(node)
                await _installed(node)
                await check_installation(node, now() - began)
                return True
            except InMaintenance as waiting:
                phase = "maintenance"
                if before and waiting.said not in ("", before):
                    what = "the machine config was applied, and the machine has booted since"
                    raise Permanent(f"{self.name} is {FELL_BACK}; {what}", hint=FELL_BACK_FIX) from None
                raise Temporary(str(waiting), hint=FELL_BACK_FIX) from None
            except Temporary as silent:
                phase = "installing" if isinstance(silent, NotReady) else "rebooting" if before else "booting"
                if now() - began < _CONSOLE_AFTER:
                    raise
                hint = _READS_ONCE.format(name=self.name) if context.provider.seeds else silent.hint
                raise Temporary(f"{silent}{await _console(context, self.name)}", hint=hint) from None

        what = "waiting for the Talos API with the machine config"
        await until(look, note, what, stop=context.stop_wanted, soon=_NOT_SO_SOON)
        if self.own is not None and not await has_config(context.configured(self.name), self.own):
            raise Permanent(
                f"{self.name} has another machine config than this step applies{self.own}: another run applied it",
                hint="re-run the same command, which plans from the machine config that the node has now",
            )

    async def _apply(self, context: Context, report: Report) -> str:
        """The fingerprint that the machine had in maintenance mode; empty if it is beyond that."""
        node = await self._find(context, report)
        if node is not None:
            with suppress(NotInMaintenance):  # another run may be quicker at any moment
                return await self._apply_to(context, node)
        # Whether the machine config is this cluster's the certificate will tell.
        report("machine config was applied by another run or an earlier attempt", phase="installing")
        return ""

    async def _apply_to(self, context: Context, node: TalosNode) -> str:
        seen = await node.fingerprint()
        if not context.fingerprint(self.name):
            if context.provider.creates:  # it may tell only once the machine is on
                await context.machine_now(self.name)
            if context.fingerprint(self.name):
                raise Temporary(f"{self.name} is asked again: its fingerprint is known now", retry_after=0.0)
            if not context.options.trust_first_use:
                raise Permanent(
                    f"nothing proves that the machine at {node.address} is {self.name}: its fingerprint is {seen}",
                    hint=f"compare it with its console and write `fingerprint: {seen}` to the node in the inventory, "
                    "or trust the network this once with --trust-first-use",
                )
            context.note(f"{self.name}: trusted at first use, with the fingerprint {seen}")
        config = (self.own or context.node(self.name)).config
        await check_install_disk(node, config)
        context.check_lock()
        try:
            await node.apply_config(config)
        except Invalid as refused:
            raise await without_match(node, refused) from None
        return seen

    async def _find(self, context: Context, report: Report) -> TalosNode | None:
        """The node in maintenance mode at one of the places where it may be; None if it is beyond that."""

        async def look() -> tuple[TalosNode | None]:
            wrong: TalosError | None = None
            for place in context.reach.in_maintenance(self.name):
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
            raise wrong or Temporary(f"{self.name}: address is not known")

        booting = partial(report, phase="booting")
        what = "waiting for the Talos API in maintenance mode"
        return (await until(look, booting, what, stop=context.stop_wanted))[0]


async def _since_booted(context: Context, name: str) -> NotReady | None:
    """Machines show another fingerprint after each boot. One that has booted since it was looked at has told it."""
    before = context.fingerprint(name)
    if not context.provider.creates or name not in context.machines:
        return None
    await context.machine_now(name)
    if context.fingerprint(name) == before:
        return None
    for place in context.reach.in_maintenance(name):
        await context.maintenance.forget(place)
    return NotReady(name, "has rebooted since its fingerprint was read")


async def _installed(node: TalosNode) -> None:
    """Raise `NotReady` until Talos is installed. If that fails, the node shows the cluster's certificate for a while
    and then falls back to maintenance mode."""
    with suppress(NotFound):
        stage = (await node.machine_status()).stage
        if stage in _ON_THE_WAY:
            raise NotReady(node.name, f"stage is {stage}")


async def _console(context: Context, name: str) -> str:
    """The end of what its machine wrote, where the provider can tell."""
    provider = context.provider
    if not isinstance(provider, HasConsole) or name not in context.machines:
        return ""
    try:
        lines = (await provider.console(context.machines[name], _CONSOLE_LINES)).splitlines()
    except TalosmithError as problem:
        return f"; console cannot be read: {problem}"
    if not any(line.strip() for line in lines):
        return "; console is empty: the machine has not begun to boot"
    return "; last lines of its console: " + " | ".join(line.strip() for line in lines if line.strip())
