"""Steps on resources: run twice is run once, one after the other, with what the others left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from talosmith.errors import Temporary
from talosmith.model.cluster import Endpoint
from talosmith.model.machines import Machine, Owner
from talosmith.model.resources import Resource, SettingChange
from talosmith.plan.step import Report
from talosmith.steps.context import Context
from talosmith.steps.resources import CreateResource, DeleteResource, UpdateResource
from tests.cloud import BALANCER, GROUP, NETWORK, SUBNET, Backend, Cloud

OWNER = Owner("t", "0123456789abcdef")


def quiet(text: str, hint: str = "", *, phase: str = "") -> None:
    """Nobody listens."""


REPORT = cast(Report, quiet)


class World:
    def __init__(self) -> None:
        self.backend, self.checked = Backend(), 0
        self.next_process()

    def next_process(self, *found: Resource) -> None:
        def check_lock() -> None:
            self.checked += 1

        resources = {one.key: one for one in found}
        machine = Machine(id="cp-1", name="cp-1", role="controlplane")
        self.backend.machines["cp-1"] = machine
        self.context = cast(
            Context,
            SimpleNamespace(
                desired=SimpleNamespace(cluster=SimpleNamespace(endpoint=Endpoint("10.0.0.10"))),
                provider=Cloud(OWNER, self.backend),
                resources=resources,
                machines={"cp-1": machine},
                check_lock=check_lock,
            ),
        )


async def test_each_is_created_with_what_the_others_left() -> None:
    world = World()
    for key in (NETWORK, SUBNET, BALANCER, GROUP):
        step = CreateResource(key)
        assert not await step.done(world.context)
        await step.run(world.context, REPORT)
        assert await step.done(world.context)
    assert world.checked == 4 and len(world.backend.things) == 4
    assert world.context.resources[GROUP].members == ("cp-1",)


async def test_an_answer_that_was_lost_is_no_second_resource() -> None:
    world = World()
    world.backend.lost = 1
    step = CreateResource(NETWORK)
    with pytest.raises(Temporary):
        await step.run(world.context, REPORT)
    assert not await step.done(world.context)
    await step.run(world.context, REPORT)
    assert [one.key for one in world.backend.things.values()] == [NETWORK]


async def test_an_update_is_done_when_nothing_differs() -> None:
    world = World()
    await CreateResource(NETWORK).run(world.context, REPORT)
    (there,) = world.backend.things.values()
    step = UpdateResource(NETWORK, (SettingChange("dns", False, True),))
    assert await step.done(world.context)
    drifted = Resource(id=there.id, kind="network", name="main", settings={"cidr": "10.0.0.0/16", "dns": False})
    world.next_process(drifted)
    assert not await step.done(world.context)
    await step.run(world.context, REPORT)
    assert await step.done(world.context) and world.backend.things[there.id].settings["dns"] is True


async def test_what_is_in_use_is_deleted_later() -> None:
    world = World()
    for key in (NETWORK, SUBNET):
        await CreateResource(key).run(world.context, REPORT)
    step = DeleteResource(NETWORK)
    with pytest.raises(Temporary, match="in use by subnet a"):
        await step.run(world.context, REPORT)
    assert not await step.done(world.context)
    world.backend.machines.clear()
    for one in (DeleteResource(SUBNET), step):
        await one.run(world.context, REPORT)
        assert await one.done(world.context)
    assert not world.backend.things


def test_what_is_shown_of_them() -> None:
    changes = (SettingChange("dns", None, True),)
    create = CreateResource(NETWORK, changes)
    assert (create.key, create.describe(), create.settings) == (
        "resource/network/main/create",
        "create network main",
        changes,
    )
    assert create.calls() == ("resource:network:create",) and create.disruption == "none"
    assert UpdateResource(NETWORK).calls() == ("resource:network:update",)
    delete = DeleteResource(SUBNET, shared=True)
    assert delete.describe() == "delete subnet a, unless another cluster uses it by then"
    assert (delete.stage, create.stage) == ("removal", "resources")
