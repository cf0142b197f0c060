"""Waiting for health: what is told meanwhile, what the end says, and that flapping does not pass."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from talosmith.errors import ExitCode
from talosmith.lab import services
from talosmith.observed.health import Unhealthy, checks, wait_healthy
from tests.lab.observe_worlds import LabWorld, lab_world

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
async def world(tmp_path: Path, network: str) -> AsyncIterator[LabWorld]:
    async with lab_world(tmp_path, network, 3, 1) as made:
        yield made


async def test_from_nothing_to_healthy(world: LabWorld) -> None:
    told: list[str] = []
    coming = asyncio.create_task(world.come_up())
    await wait_healthy(world.desired, world.talos, None, report=told.append, limit=60)
    await coming
    assert told
    assert all(text.startswith("waiting for ") for text in told)
    assert len(told) == len([text for index, text in enumerate(told) if index == 0 or told[index - 1] != text])
    quiet: list[str] = []
    await wait_healthy(world.desired, world.talos, None, report=quiet.append, limit=60)
    assert quiet == []


async def test_the_limit_names_the_condition_and_the_last_thing_seen(world: LabWorld) -> None:
    """Promises 22 and 23."""
    await world.come_up()
    world.control.power_off(["w-1"])
    began = time.monotonic()
    with pytest.raises(Unhealthy, match=r"apid to be ready: w-1 .*nothing listens") as caught:
        await wait_healthy(world.desired, world.talos, None, report=lambda text: None, limit=2)
    assert time.monotonic() - began < 2 + 5
    assert caught.value.check == "apid to be ready"
    assert caught.value.exit_code is ExitCode.UNHEALTHY


async def test_a_node_that_says_nothing_does_not_hold_up_the_limit(world: LabWorld) -> None:
    await world.come_up()
    world.control.add_fault("hang", machines=["cp-2"])
    began = time.monotonic()
    with pytest.raises(Unhealthy, match="etcd to be healthy"):
        await wait_healthy(world.desired, world.talos, None, report=lambda text: None, limit=2)
    assert time.monotonic() - began < 2 + 5


async def test_flapping_does_not_pass(world: LabWorld) -> None:
    """Promise 21: a kubelet that is up for longer than one look takes, again and again, and down in between."""
    await world.come_up()
    inside = world.server.world
    machine = inside.machines["w-1"]
    flapped = 0

    async def flap() -> None:
        nonlocal flapped
        while True:
            services.stop(inside, machine, "kubelet")
            world.server.engine.commit()
            await asyncio.sleep(0.15)
            services.start_again(inside, machine, "kubelet")
            world.server.engine.commit()
            flapped += 1
            await asyncio.sleep(0.35)

    flapping = asyncio.create_task(flap())
    with pytest.raises(Unhealthy, match=r"kubelet|nodes keep changing"):  # as looks happen to fall
        await wait_healthy(world.desired, world.talos, None, report=lambda text: None, limit=4)
    flapping.cancel()
    assert flapped > 3
    services.start_again(inside, machine, "kubelet")
    world.server.engine.commit()
    await wait_healthy(world.desired, world.talos, None, report=lambda text: None, limit=60)


async def test_word_of_a_change_comes_before_the_next_look(world: LabWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are listened to: with a day between looks, a node that comes back is noticed all the same."""
    await world.come_up()
    stopped = world.server.world.machines["w-1"]
    services.stop(world.server.world, stopped, "kubelet")
    world.server.engine.commit()
    monkeypatch.setattr("talosmith.observed.health._pause", lambda waited: 86400.0 if waited > 1 else 0.05)

    async def mend() -> None:
        await asyncio.sleep(2.5)
        services.start_again(world.server.world, stopped, "kubelet")
        world.server.engine.commit()

    mending = asyncio.create_task(mend())
    await wait_healthy(world.desired, world.talos, None, report=lambda text: None, limit=30)
    await mending


async def test_conditions_are_in_the_order_in_which_they_come_true(world: LabWorld) -> None:
    names = [check.name for check in checks(world.desired)]
    assert names[0] == "etcd to be healthy"
    assert names[-1] == "all k8s nodes to report schedulable"
    assert len(names) == len(set(names)) == 14
