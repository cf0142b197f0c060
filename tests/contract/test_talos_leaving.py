"""How a node goes: refused, reset, or out of etcd by itself. In the lab and on real Talos alike.

A reset in a container wipes nothing and does not leave etcd; what hangs on that is asked of worlds that can.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from talosmith.errors import Temporary
from talosmith.talos import (
    AlreadyExists,
    Denied,
    MaintenanceClient,
    NotFound,
    TalosError,
    TalosNode,
    TooSlow,
    Unsupported,
)
from talosmith.talos.events import SequenceStep
from tests.contract.worlds import Machine, World, applied, bootstrapped, done, eventually, joined, refused

pytestmark = pytest.mark.slow

_LAST_WORDS = 10  # a real node may be gone before what it said last has left it; then it is asked again
_CUT_SHORT = "context canceled"  # a real etcd may be asked for its health just when it is stopped


async def test_what_is_refused_changes_nothing(world: World) -> None:
    (machine,) = await world.fresh()
    async with MaintenanceClient() as maintenance:
        await refused(lambda: maintenance.node(machine.address).reset(graceful=False), Denied)
    await bootstrapped(world, machine)
    async with world.client("os:reader") as reader:
        node = reader.node(machine.address)
        for ask in (node.reset, node.etcd_leave, lambda: node.etcd_remove(1)):
            await refused(ask, Denied)
    async with world.client() as client:
        node = client.node(machine.address)
        await eventually(node.machine_status, lambda status: status.stage == "running" and status.ready)
        (member,) = await joined(node, 1)
        await refused(
            lambda: node.reset(partitions=["NOPE"]), words=r'label "NOPE": resource .*NOPE.* doesn\'t exist'
        )
        await refused(lambda: node.reset(user_disks=["/dev/nope"]), words="device /dev/nope wasn't found")
        await refused(lambda: node.etcd_remove(member.id), words=f"member {member.id}: .*not enough started members")
        await refused(
            lambda: node.etcd_remove(member.id + 1), NotFound, f"member {member.id + 1}: .*member not found"
        )
        for act in (node.service_stop, node.service_restart):
            await refused(lambda act=act: act("etcd"), Unsupported)
        await refused(lambda: node.service_stop("kubelet"), Unsupported)
        await eventually(lambda: node.service_start("etcd"))  # which runs
        await eventually(lambda: node.service_restart("kubelet"))
        assert await joined(node, 1) == (member,)
        await eventually(node.machine_status, lambda status: status.stage == "running" and status.ready)


async def test_a_reset_takes_a_node_down(world: World) -> None:
    (machine,) = await world.fresh()
    await bootstrapped(world, machine)
    async with world.client() as client, Followed(client.node(machine.address)) as followed:
        node = client.node(machine.address)
        (member,) = await joined(node, 1)
        await eventually(node.machine_status, lambda status: status.stage == "running")
        if "a reset leaves etcd" in world.abilities:
            in_vain = await eventually(lambda: node.reset(graceful=True))
            told = await followed.error_of(in_vain)
            assert "not enough started members" in told
            assert await joined(node, 1) == (member,)
            assert followed.begun(in_vain)
        actor = await _reset(node, machine)
        for _ in range(_LAST_WORDS):
            if followed.begun(actor) or "a reset wipes the disk" in world.abilities:
                break
            machine.start()
            assert await joined(node, 1) == (member,)
            actor = await _reset(node, machine)
        await eventually(_value(lambda: followed.begun(actor)), bool)
        assert [by for by, step in followed.steps if step.action == "start"].count(actor) == 1
        with pytest.raises(TalosError):
            await node.version()
        machine.start()
        if "a reset wipes the disk" in world.abilities:
            async with MaintenanceClient() as maintenance:
                await eventually(
                    maintenance.node(machine.address).machine_status, lambda status: status.stage == "maintenance"
                )
        else:
            assert await joined(node, 1) == (member,)


async def _reset(node: TalosNode, machine: Machine) -> str:
    actor: str = await eventually(lambda: node.reset(graceful=False))
    with suppress(Temporary):  # too late to be asked, or locked
        assert await node.reset(graceful=False) != actor
    await eventually(_value(machine.is_on), lambda on: not on)
    return actor


async def test_a_member_leaves_and_comes_back(world: World) -> None:
    """A node that has left has no etcd until it boots again, or until somebody makes a second cluster of it."""
    first, second = await world.fresh(2)
    await bootstrapped(world, first)
    await applied(world, second)
    async with world.client() as client:
        stays, goes = client.node(first.address), client.node(second.address)
        before = await joined(stays, 2)
        await eventually(goes.machine_status, lambda status: status.ready)
        await _leave(goes, stays)
        await refused(lambda: goes.service_start("etcd"), Unsupported)
        status = await eventually(
            goes.machine_status, lambda status: [item.reason for item in status.unmet] == ["etcd not running"]
        )
        assert (status.stage, status.ready) == ("running", False)
        await eventually(goes.reboot)
        after = await joined(stays, 2)
        assert {member.hostname for member in after} == {member.hostname for member in before}
        assert len({member.id for member in (*before, *after)}) == 3
        await eventually(goes.machine_status, lambda status: status.stage == "running" and status.ready)
        await _leave(goes, stays)
        await done(goes.bootstrap, AlreadyExists)
        assert [member.hostname for member in await joined(goes, 1, local=True)] == [second.name]
        assert [member.hostname for member in await joined(stays, 1, local=True)] == [first.name]


async def _leave(node: TalosNode, other: TalosNode) -> None:
    """The others know at once; the node keeps no etcd, and does not say so to who asks for it.

    A real etcd whose connections are new lets nobody go yet, and without its leader it has no answer for a moment.
    """

    await eventually(node.etcd_leave)
    members = await eventually(other.etcd_members)
    assert [member.id for member in members] == [(await eventually(other.etcd_status)).member_id]
    assert await eventually(node.etcd_members) == members
    etcd = await eventually(lambda: node.service("etcd"))
    assert (etcd.state, etcd.healthy) == ("Finished", False)
    assert etcd.message in ("service not running", _CUT_SHORT)
    with pytest.raises(TooSlow, match=r"no answer within|DEADLINE_EXCEEDED"):
        await node.etcd_status(timeout=2)


class Followed:
    """The steps of a node's resets as its events tell them, until it is gone; each with the call it follows from."""

    def __init__(self, node: TalosNode) -> None:
        self._node = node
        self._seen: set[str] = set()
        self.steps: list[tuple[str, SequenceStep]] = []

    async def __aenter__(self) -> Followed:
        self._task = asyncio.create_task(self._follow())
        await eventually(_value(lambda: self._seen), bool)  # from here on nothing is missed
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _follow(self) -> None:
        """What was told before is told again after a connection was lost."""
        while True:
            with suppress(Temporary):
                async for event in self._node.events(tail=-1):
                    known = event.id in self._seen
                    self._seen.add(event.id)
                    if not known and isinstance(event.what, SequenceStep) and event.what.sequence == "reset":
                        self.steps.append((event.actor, event.what))
            await asyncio.sleep(0.2)

    def begun(self, actor: str) -> bool:
        return (actor, SequenceStep("reset", "start", "")) in self.steps

    async def error_of(self, actor: str) -> str:
        errors: list[str] = await eventually(
            _value(lambda: [step.error for by, step in self.steps if by == actor and step.error]), bool
        )
        return errors[0]


def _value(ask: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    """What can be asked at once, for who waits."""

    async def asked() -> Any:
        return ask()

    return asked
