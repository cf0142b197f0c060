"""etcd: bootstrapping it exactly once, and removing members without losing quorum."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from talosmith.errors import Permanent, Temporary
from talosmith.observed.etcd import look_at_member
from talosmith.observed.world import EtcdSeen
from talosmith.plan.step import Disruption, Report, Stage
from talosmith.steps.action import OnCluster, OnNode
from talosmith.steps.context import Context
from talosmith.steps.gate import through_gate
from talosmith.talos import AlreadyExists, EtcdMember, NotFound, Swept, TalosNode, sweep
from talosmith.tasks import task_group
from talosmith.waiting import limited, until

_SOON = 2.0  # seconds
_REMINDER = 0.5


@dataclass(frozen=True, slots=True)
class BootstrapEtcd(OnCluster):
    """Every control plane is asked first, those too that the inventory no longer has.

    One that has etcd data, or does not answer, and nothing is started: Talos guards each node only, and a second node
    that is bootstrapped is a second cluster.
    """

    first: str

    area: ClassVar[str] = "etcd"
    verb: ClassVar[str] = "bootstrap"
    stage: ClassVar[Stage] = "etcd"
    limit: ClassVar[float] = 600.0
    makes: ClassVar[tuple[str, ...]] = ("talos:Bootstrap",)

    @property
    def subject(self) -> str:
        return self.first

    def describe(self) -> str:
        return "bootstrap etcd"

    async def done(self, context: Context) -> bool:
        """Known to be. Who does not answer soon is asked again by `run`, which says whom it waits for."""
        async with limited(_SOON):
            return await self._state(context, _silently) is False
        return False

    async def run(self, context: Context, report: Report) -> None:
        asking = "asking all control planes for etcd data"
        if not await until(lambda: self._state(context, report), report, asking, stop=context.stop_wanted):
            return
        context.check_lock()
        try:
            await context.configured(self.first).bootstrap()
        except AlreadyExists:
            # Its certificate is this cluster's, so the data is too, if it lists itself as a member.
            await until(lambda: self._started(context), report, "waiting for etcd, which is bootstrapped")

    async def _state(self, context: Context, report: Report) -> bool | None:
        """True: no control plane has etcd data. False: one has. None: not all have answered."""
        names = context.all_controlplanes
        found = await _asked(context, names, report)
        if any(not seen.waiting for seen in found.results.values()):
            return False
        for wrong in found.errors.values():
            if not isinstance(wrong, Temporary):
                raise wrong
        if found.errors:
            reasons = "; ".join(str(found.errors[name]) for name in names if name in found.errors)
            report(f"asking all control planes for etcd data: {reasons}", next(iter(found.errors.values())).hint)
        return True if not found.errors else None

    async def _started(self, context: Context) -> EtcdSeen | None:
        seen = await look_at_member(context.configured(self.first))
        return seen if seen.members else None


@dataclass(frozen=True, slots=True)
class LeaveEtcd(OnNode):
    """A control plane that is going to be removed, and can still do it itself."""

    area: ClassVar[str] = "etcd"
    verb: ClassVar[str] = "leave"
    stage: ClassVar[Stage] = "removal"
    limit: ClassVar[float] = 600.0
    makes: ClassVar[tuple[str, ...]] = ("talos:EtcdForfeitLeadership", "talos:EtcdLeaveCluster")

    @property
    def disruption(self) -> Disruption:
        return "wipe"

    def describe(self) -> str:
        return "leave etcd"

    async def done(self, context: Context) -> bool:
        return context.disturbed != self.name and bool(await _gone(context, self.name))

    async def run(self, context: Context, report: Report) -> None:
        async with through_gate(context, self.name, "remove", True, report):
            if await _gone(context, self.name):
                return
            node = context.configured(self.name)
            context.check_lock()
            await node.etcd_forfeit()
            context.check_lock()
            await _carried_out(
                node.etcd_leave,
                lambda: _gone(context, self.name),
                report,
                "waiting for the etcd member to be removed",
            )


@dataclass(frozen=True, slots=True)
class RemoveMember(OnNode):
    """A member whose machine is gone for good. It is removed by its number, through another member."""

    member: int

    area: ClassVar[str] = "etcd"
    verb: ClassVar[str] = "remove"
    stage: ClassVar[Stage] = "removal"
    limit: ClassVar[float] = 600.0
    makes: ClassVar[tuple[str, ...]] = ("talos:EtcdRemoveMemberByID",)

    @property
    def disruption(self) -> Disruption:
        return "wipe"

    def describe(self) -> str:
        return f"remove old etcd member {self.member:016x}"

    async def done(self, context: Context) -> bool:
        _, members = await _members(context, self.name)
        return context.disturbed != self.name and all(member.id != self.member for member in members)

    async def run(self, context: Context, report: Report) -> None:
        async with through_gate(context, self.name, "remove", True, report):
            another, members = await _members(context, self.name)
            if any(member.id == self.member for member in members):
                context.check_lock()
                with suppress(NotFound):
                    await another.etcd_remove(self.member)


async def _members(context: Context, but: str) -> tuple[TalosNode, tuple[EtcdMember, ...]]:
    """The members by the first control plane that answers, and that one; `but` is not asked."""
    last: Temporary | None = None
    for node in context.desired.controlplanes:
        if node.name == but:
            continue
        talos = context.configured(node.name)
        try:
            return talos, await talos.etcd_members(timeout=10.0)
        except Temporary as wrong:
            last = wrong
    raise last or Permanent(
        f"no control plane other than {but} lists etcd's members", hint="one control plane cannot remove itself"
    )


async def _asked(context: Context, names: Sequence[str], report: Report) -> Swept[EtcdSeen]:
    """All of them at once; who is slow to answer is named meanwhile."""
    silent = dict.fromkeys(names)

    async def look(node: TalosNode) -> EtcdSeen:
        try:
            return await look_at_member(node)
        finally:
            silent.pop(node.name, None)

    async def remind() -> None:
        await asyncio.sleep(_REMINDER)
        report(f"asking all control planes for etcd data: no answer yet from {', '.join(silent)}")

    async with task_group() as group:
        reminding = group.create_task(remind())
        found = await sweep([context.configured(name) for name in names], look)
        reminding.cancel()
    return found


async def _carried_out(
    act: Callable[[], Coroutine[Any, Any, None]],
    look: Callable[[], Awaitable[bool | None]],
    report: Report,
    what: str,
) -> None:
    """Whether others see the effect is what counts: an answer may take minutes, or get lost."""

    async with task_group() as group:
        acting = group.create_task(act())
        await until(look, report, what)
        acting.cancel()


async def _gone(context: Context, name: str) -> bool | None:
    _, members = await _members(context, name)
    return None if any(member.hostname == name for member in members) else True


def _silently(text: str, hint: str = "", *, phase: str = "") -> None:
    """Where there is no step that reports."""
