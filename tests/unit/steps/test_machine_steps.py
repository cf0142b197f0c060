"""Machines: created once, switched on, resized behind the gate, deleted; and their seeds forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from talosmith.errors import Permanent
from talosmith.steps.machines import CreateMachine, DestroyMachine, ForgetSeed, PowerOn, ResizeMachine
from talosmith.talos import TooSlow
from tests.unit.steps.conftest import NewWorld
from tests.unit.steps.fake_world import Provider, World

pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def world(new_world: NewWorld) -> World:
    world = new_world()
    world.runs()
    return world


def smaller(world: World) -> None:
    """The machine has less memory than the inventory says."""
    world.provider.machines["cp-1"] = replace(world.provider.machines["cp-1"], ram_mib=1)


@pytest.mark.parametrize("seeds", [True, False])
async def test_a_machine_is_created_with_its_config_only_where_it_gets_a_seed(
    new_world: NewWorld, seeds: bool
) -> None:
    world = new_world()
    world.provider.seeds = seeds  # type: ignore[misc]
    context, step = world.context(), CreateMachine("cp-1")
    assert not await step.done(context)
    await step.run(context, world.report)
    assert await step.done(context) and world.log == ["cp-1 machine:create"]
    assert bool(world.boxes["cp-1"].kept) is seeds


async def test_a_machine_whose_creation_was_not_confirmed_is_no_second_one(new_world: NewWorld) -> None:
    world = new_world()
    world.loses_answer("cp-1 machine:create", TooSlow("cp-1", "no answer"))
    context = world.context()
    with pytest.raises(TooSlow):
        await CreateMachine("cp-1").run(context, world.report)
    await CreateMachine("cp-1").run(context, world.report)
    assert list(world.provider.machines) == ["cp-1"] == list(context.machines)


async def test_a_machine_is_switched_on(world: World) -> None:
    world.boxes["cp-1"].stage = "off"
    world.provider.machines["cp-1"] = replace(world.provider.machines["cp-1"], power="off")
    context = world.context()
    await PowerOn("cp-1").run(context, world.report)
    assert world.log == ["cp-1 machine:power"] and context.machines["cp-1"].power == "on"


async def test_a_seed_is_forgotten_and_told_once(world: World) -> None:
    world.provider.machines["cp-1"] = replace(world.provider.machines["cp-1"], seeded=True)
    context = world.context()
    await ForgetSeed("cp-1").run(context, world.report)
    await ForgetSeed("cp-1").run(context, world.report)
    assert len(world.told) == 1 and "is detached and deleted" in world.told[0]


async def test_a_provider_without_seeds_has_none_to_forget(new_world: NewWorld) -> None:
    world = new_world(provider=Provider)
    world.runs()
    await ForgetSeed("cp-1").run(world.context(), world.report)
    assert world.log == []


async def test_a_machine_gets_its_size_behind_the_gate(world: World) -> None:
    smaller(world)
    context, step = world.context(), ResizeMachine("cp-1", "memory", controlplane=True)
    await step.run(context, world.report)
    assert world.log == ["cp-1 machine:resize"]
    assert context.machines["cp-1"].ram_mib == world.desired.nodes["cp-1"].machine.ram_mib
    assert context.disturbed == "" and world.told[-1].startswith("`cp-1` is back")


async def test_a_resize_whose_answer_is_lost_is_not_made_again(world: World) -> None:
    smaller(world)
    world.loses_answer("cp-1 machine:resize", TooSlow("cp-1", "no answer"))
    context, step = world.context(), ResizeMachine("cp-1", "memory", controlplane=True)
    with pytest.raises(TooSlow):
        await step.run(context, world.report)
    assert context.disturbed == "cp-1"
    await step.run(context, world.report)
    assert world.log == ["cp-1 machine:resize"] and context.disturbed == ""


async def test_no_machine_is_resized_while_the_gate_is_shut(new_world: NewWorld) -> None:
    world = new_world(3)
    world.runs()
    smaller(world)
    world.boxes["cp-2"].sick = True

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        if text.startswith("not allowed yet"):
            assert world.log == []
            world.boxes["cp-2"].sick = False

    await ResizeMachine("cp-1", "memory", controlplane=True).run(world.context(), report)
    assert world.log == ["cp-1 machine:resize"]


async def test_a_running_machine_that_no_longer_only_grows_is_left(world: World) -> None:
    smaller(world)
    with pytest.raises(Permanent, match="the machine was changed since the plan"):
        await ResizeMachine("cp-1", "disks", running=True).run(world.context(), world.report)
    assert world.log == []


async def test_a_provider_that_cannot_resize_is_told(new_world: NewWorld) -> None:
    world = new_world(provider=Provider)
    world.runs()
    with pytest.raises(Permanent, match="fake cannot change the size of a machine"):
        await ResizeMachine("cp-1").run(world.context(), world.report)


async def test_a_machine_is_deleted_once(world: World) -> None:
    context, step = world.context(), DestroyMachine("cp-1")
    assert not await step.done(context)
    await step.run(context, world.report)
    assert world.log == ["cp-1 machine:destroy"] and await step.done(context)


async def test_a_deletion_whose_answer_is_lost_comes_to_the_same(world: World) -> None:
    world.loses_answer("cp-1 machine:destroy", TooSlow("cp-1", "no answer"))
    context = world.context()
    with pytest.raises(TooSlow):
        await DestroyMachine("cp-1").run(context, world.report)
    await DestroyMachine("cp-1").run(context, world.report)
    assert world.provider.machines == {} and await DestroyMachine("cp-1").done(context)
