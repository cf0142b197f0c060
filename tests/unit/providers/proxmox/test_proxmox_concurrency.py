"""Concurrent work on Proxmox VE: the limits of clones and creates at once, and uploads of another run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.providers.proxmox import lanes, tasks
from tests.simulators.proxmox import Proxmox
from tests.unit.providers.proxmox.proxmox_harness import QEMU, ProxmoxHarness
from tests.unit.providers.proxmox.proxmox_vms import from_template
from tests.waiting import comes_true

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]


def most_at_once(world: Proxmox, kind: str) -> Callable[[], int]:
    """How many tasks of a kind have run at the same time."""
    start, most = world.tasks.start, [0]

    def counted(*given: Any) -> str:
        upid = start(*given)
        most[0] = max(most[0], sum(task.type == kind for task in world.tasks.active()))
        return upid

    world.tasks.start = counted  # type: ignore[method-assign,assignment]
    return lambda: most[0]


async def test_one_clone_at_a_time(harness: ProxmoxHarness) -> None:
    from_template(harness)
    harness.world.pace.durations["full clone"] = 10.0
    most = most_at_once(harness.world, "qmclone")
    provider = harness.provider()
    await asyncio.gather(*(provider.create(harness.spec(f"w-{number}")) for number in range(1, 6)))
    assert most() == 1 and len(await provider.find()) == 5


async def test_several_creates_at_a_time_and_one_after_a_lock_time_out(harness: ProxmoxHarness) -> None:
    world = harness.world
    most = most_at_once(world, "qmcreate")
    provider = harness.provider()
    usual = world.pace.of("qmcreate")
    world.pace.durations["qmcreate"] = 1e6  # no create ends before all that may begin have begun
    creating = [asyncio.create_task(provider.create(harness.spec(f"w-{number}"))) for number in range(1, 6)]

    async def four() -> str:
        return "" if most() >= 4 else f"{most()} creates at a time"

    await comes_true(four)
    world.pace.durations["qmcreate"] = usual
    world.settle()
    await asyncio.gather(*creating)
    assert most() == 4
    world.faults.refuse(500, "unable to create VM 3010 - can't lock file '/x' - got timeout", 1, "POST", QEMU)
    with pytest.raises(Temporary, match="can't lock"):
        await provider.create(harness.spec("w-11"))
    most = most_at_once(world, "qmcreate")
    await asyncio.gather(*(provider.create(harness.spec(f"w-{number}")) for number in range(11, 16)))
    assert most() == 1


async def test_a_lane_is_free_again_after_a_failure() -> None:
    some = lanes.Lanes()
    with pytest.raises(Permanent):
        async with some.cloning("pve", "local"):
            raise Permanent("no room")
    waiting = asyncio.create_task(_within(some))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(5), some.cloning("pve", "local"):
        pass


async def _within(some: lanes.Lanes) -> None:
    async with some.writing("pve", "local"):
        await asyncio.Event().wait()


async def test_uploads_of_another_run_are_waited_for_and_those_of_our_own_are_not(harness: ProxmoxHarness) -> None:
    ours, others = harness.provider(), harness.provider()
    harness.world.freeze()
    upid = await ours.client.upload("pve", "local", "iso", "x.iso", b"x", hashlib.sha256(b"x").hexdigest())
    following = asyncio.create_task(tasks.follow(ours.client, upid, "upload"))
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        assert await ours.find() == []
    waiting = asyncio.create_task(others.find())
    assert not (await asyncio.wait([waiting], timeout=0.2))[0], "the file may be a seed of ours"
    harness.world.settle()
    assert await waiting == []
    await following
