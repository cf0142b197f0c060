"""The way through the gate: looked at before and after, one control plane at a time, shut by one that is not back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.plan.gate import EtcdView, Member
from talosmith.steps import gate
from talosmith.steps.context import Context
from talosmith.steps.gate import ControlPlanes, check_gate, through_gate
from talosmith.waiting import limited

NAMES = ("cp-1", "cp-2", "cp-3")


def found(*, sick: str = "", down: str = "", gone: str = "") -> ControlPlanes:
    members = tuple(Member(name, name != sick) for name in NAMES if name != gone)
    return ControlPlanes(EtcdView(members), {name: "refused" if name == down else "" for name in NAMES})


WELL = found()


class World:
    """Control planes as they are found, look by look; the last look is what they stay like."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks: Iterator[ControlPlanes] = iter(())
        self.last = WELL
        self.said: list[str] = []
        self.context = cast(Context, SimpleNamespace(turn=asyncio.Lock(), disturbed="", stop_wanted=lambda: False))

        async def look(context: Context, name: str) -> ControlPlanes:
            self.last = next(self.looks, self.last)
            return self.last

        monkeypatch.setattr(gate, "look", look)

    def will_be(self, *looks: ControlPlanes) -> None:
        self.looks = iter(looks)

    def report(self, text: str, hint: str = "", *, phase: str = "") -> None:
        self.said.append(text)

    def gate(self, name: str, act: Any = "restart", *, controlplane: bool = True) -> Any:
        return through_gate(self.context, name, act, controlplane, self.report)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


async def test_a_worker_passes_without_a_look(world: World) -> None:
    world.will_be(found(sick="cp-1", down="cp-2"))
    async with world.gate("w-1", controlplane=False):
        assert not world.context.turn.locked() and not world.said


async def test_nothing_is_done_before_it_is_allowed(world: World) -> None:
    world.will_be(found(sick="cp-1"), found(down="cp-3"), WELL)
    async with world.gate("cp-2"):
        assert world.said[1:] == [
            "not allowed yet: while `cp-2` restarts, 1 of 3 members are healthy; 2 are needed",
            "not allowed yet: the Kubernetes API of `cp-3` is not ready: refused",
            "2 of 3 members stay healthy while `cp-2` restarts",
        ]


async def test_the_turn_passes_on_only_when_the_control_plane_is_back(world: World) -> None:
    world.will_be(WELL, found(sick="cp-2", down="cp-2"), found(down="cp-2"), WELL)
    order: list[str] = []

    async def second() -> None:
        async with world.gate("cp-3"):
            order.append("cp-3")

    async with asyncio.TaskGroup() as group:
        async with world.gate("cp-2"):
            group.create_task(second())
            await asyncio.sleep(0.05)
            order.append("cp-2")
        order.append("cp-2 is back")
    assert order == ["cp-2", "cp-2 is back", "cp-3"]
    assert world.context.disturbed == ""
    assert "cp-2 has not come back yet: the etcd member of `cp-2` is not healthy" in world.said
    assert "cp-2 has not come back yet: the Kubernetes API of `cp-2` is not ready: refused" in world.said


async def test_one_that_does_not_come_back_shuts_the_gate_for_the_others(world: World) -> None:
    world.will_be(WELL, found(sick="cp-2", down="cp-2"))
    async with limited(0.2) as limit, world.gate("cp-2"):
        pass
    assert limit.over and world.context.disturbed == "cp-2"
    world.will_be(WELL)
    with pytest.raises(Permanent, match="cp-3 is left alone: control plane cp-2 was disturbed in this run"):
        async with world.gate("cp-3"):
            raise AssertionError("let through")
    with pytest.raises(Permanent, match="cp-2 was disturbed"):
        await check_gate(world.context, "cp-3", "remove", world.report)
    async with world.gate("cp-2"):  # it may be tried again, and open the gate
        pass
    assert world.context.disturbed == ""


async def test_an_error_in_the_act_shuts_the_gate_too(world: World) -> None:
    with pytest.raises(Temporary):
        async with world.gate("cp-2"):
            raise Temporary("the answer was lost")
    assert world.context.disturbed == "cp-2"


async def test_a_removal_is_over_when_the_member_is_gone_and_the_others_are_well(world: World) -> None:
    world.will_be(WELL, WELL, found(gone="cp-2", down="cp-3"), found(gone="cp-2", down="cp-2"))
    async with world.gate("cp-2", "remove"):
        pass
    assert world.said[1:] == [
        "2 of 2 members stay healthy without `cp-2`",
        "removal of cp-2 is not over yet: `cp-2` is still an etcd member",
        "removal of cp-2 is not over yet: the Kubernetes API of `cp-3` is not ready: refused",
        "`cp-2` is removed; 2 of 2 etcd members are healthy",
    ]


async def test_a_step_that_only_prepares_waits_too_and_disturbs_nothing(world: World) -> None:
    world.will_be(found(sick="cp-1"), WELL)
    await check_gate(world.context, "cp-2", "remove", world.report)
    assert world.said[0].startswith("not allowed yet: ") and world.context.disturbed == ""
