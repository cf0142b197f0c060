"""etcd: bootstrapped once, after all control planes have said that they have none; members leave behind the gate."""

from __future__ import annotations

import pytest

from talosmith.errors import Permanent
from talosmith.steps.etcd import BootstrapEtcd, LeaveEtcd, RemoveMember
from talosmith.talos import AlreadyExists, NotTrusted, TooSlow
from talosmith.waiting import StoppedWaiting
from tests.unit.steps.conftest import NewWorld
from tests.unit.steps.fake_world import World

pytestmark = pytest.mark.usefixtures("clock")

BOOTSTRAP = "cp-1 talos:Bootstrap"
FORFEIT, LEAVE = "cp-3 talos:EtcdForfeitLeadership", "cp-3 talos:EtcdLeaveCluster"


@pytest.fixture
def world(new_world: NewWorld) -> World:
    world = new_world(3)
    world.runs()
    return world


def without_etcd(world: World) -> World:
    world.members.clear()
    for box in world.boxes.values():
        box.data = False
    return world


async def test_etcd_is_bootstrapped_where_no_control_plane_has_it(world: World) -> None:
    without_etcd(world)
    context, step = world.context(), BootstrapEtcd("cp-1")
    assert not await step.done(context)
    await step.run(context, world.report)
    assert world.log == [BOOTSTRAP] and await step.done(context)
    await step.run(context, world.report)
    assert world.log == [BOOTSTRAP]


@pytest.mark.parametrize("name", ["cp-1", "cp-2", "cp-3"])
async def test_data_on_any_control_plane_forbids_it(world: World, name: str) -> None:
    without_etcd(world).boxes[name].data = True
    await BootstrapEtcd("cp-1").run(world.context(), world.report)
    assert world.log == []


async def test_a_control_plane_that_does_not_answer_forbids_it(world: World) -> None:
    """Until somebody stops the run: it may have the cluster's data."""
    without_etcd(world).boxes["cp-3"].stage = "off"

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        world.report(text, hint)
        world.stopping = "connection refused" in text

    with pytest.raises(StoppedWaiting):
        await BootstrapEtcd("cp-1").run(world.context(), report)
    assert world.log == [] and any("cp-3: connection refused" in text for text in world.told)


async def test_somebody_else_at_the_address_of_a_control_plane_ends_it(world: World) -> None:
    without_etcd(world).boxes["cp-2"].stage = "stranger"
    with pytest.raises(NotTrusted):
        await BootstrapEtcd("cp-1").run(world.context(), world.report)
    assert world.log == []


async def test_a_bootstrap_whose_answer_is_lost_is_not_made_again(world: World) -> None:
    without_etcd(world)
    world.loses_answer(BOOTSTRAP, TooSlow("cp-1", "no answer"))
    with pytest.raises(TooSlow):
        await BootstrapEtcd("cp-1").run(world.context(), world.report)
    await BootstrapEtcd("cp-1").run(world.context(), world.report)
    assert world.log == [BOOTSTRAP]


async def test_another_run_was_quicker(world: World) -> None:
    """Bootstrapped between the question and the act: the member list proves that it is this cluster's."""
    without_etcd(world)
    world.refuses(BOOTSTRAP, AlreadyExists("cp-1", "etcd data directory is not empty"))
    context = world.context()
    lock = context.check_lock

    def meanwhile() -> None:
        lock()
        world.boxes["cp-1"].data = True
        world.members[1] = "cp-1"

    context.check_lock = meanwhile
    await BootstrapEtcd("cp-1").run(context, world.report)
    assert world.log == [BOOTSTRAP]


async def test_a_member_gives_up_its_leadership_and_leaves(world: World) -> None:
    context, step = world.context(), LeaveEtcd("cp-3")
    assert not await step.done(context)
    await step.run(context, world.report)
    assert world.log == [FORFEIT, LEAVE] and await step.done(context)
    assert world.told[-1] == "`cp-3` is removed; 2 of 2 etcd members are healthy"
    await step.run(context, world.report)
    assert world.log == [FORFEIT, LEAVE]


async def test_what_the_other_members_see_counts_and_not_the_answer(world: World) -> None:
    world.loses_answer(LEAVE, TooSlow("cp-3", "no answer"))
    context = world.context()
    with pytest.raises((TooSlow, ExceptionGroup)):
        await LeaveEtcd("cp-3").run(context, world.report)
    await LeaveEtcd("cp-3").run(context, world.report)
    assert world.log == [FORFEIT, LEAVE] and context.disturbed == ""


async def test_no_member_leaves_that_the_quorum_needs(world: World) -> None:
    world.boxes["cp-2"].sick = True

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        world.report(text, hint)
        if text.startswith("not allowed yet"):
            assert world.log == []
            world.boxes["cp-2"].sick = False

    await LeaveEtcd("cp-3").run(world.context(), report)
    assert "not allowed yet: without `cp-3`, 1 of 2 members are healthy; 2 are needed" in world.told


async def test_a_lost_member_is_removed_by_its_number_through_another_one(world: World) -> None:
    world.boxes["cp-3"].stage = "off"
    context, step = world.context(), RemoveMember("cp-3", 3)
    assert not await step.done(context)
    await step.run(context, world.report)
    await step.run(context, world.report)
    assert world.log == ["cp-1 talos:EtcdRemoveMemberByID 3"] and await step.done(context)


async def test_the_next_control_plane_is_asked_where_one_is_away(world: World) -> None:
    for name in ("cp-1", "cp-3"):
        world.boxes[name].stage = "off"
    assert not await RemoveMember("cp-3", 3).done(world.context())


async def test_one_control_plane_cannot_remove_itself(new_world: NewWorld) -> None:
    world = new_world()
    world.runs()
    with pytest.raises(Permanent, match="no control plane other than cp-1"):
        await RemoveMember("cp-1", 1).done(world.context())
