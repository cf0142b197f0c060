"""Tasks of Proxmox VE: how the client waits for them, and what it makes of their ends and their progress."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.providers.progress import reporting_to
from talosmith.providers.proxmox import tasks
from talosmith.providers.proxmox.client import ProxmoxClient
from talosmith.providers.proxmox.failures import Gone, Interrupted
from talosmith.providers.proxmox.tasks import follow
from tests.unit.providers.proxmox.proxmox_harness import MANY, QEMU, ProxmoxHarness
from tests.waiting import comes_true

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pauses")]


async def test_warnings_are_a_success(harness: ProxmoxHarness, client: ProxmoxClient) -> None:
    harness.world.add_volume("local:100/vm-100-disk-0.raw", size=1024, vmid=100)
    harness.world.add_vm(
        100, "warned", scsi0="local:100/vm-100-disk-0.raw,iothread=1,size=1K", scsihw="virtio-scsi-pci"
    )
    upid = await client.post(f"{QEMU}/100/status/start")
    await follow(client, upid, "start")
    assert harness.world.tasks.all[upid].exit == "WARNINGS: 1" and harness.world.vms[100].status == "running"


async def test_an_error_of_a_task_is_as_good_as_one_of_the_call(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    upid = await client.post(f"{QEMU}/999/status/start")  # which Proxmox VE answers with 200
    with pytest.raises(Gone, match="start VM 999: Configuration file"):
        await follow(client, upid, "start VM 999")
    options: dict[str, Any] = {"vmid": 100, "ide2": "local:iso/gone.iso,media=cdrom"}
    with pytest.raises(Permanent, match=r"create: .*gone\.iso.* does not exist") as missing:
        await follow(client, await client.post(QEMU, **options), "create")
    assert "deleted from the storage" in missing.value.hint
    harness.world.add_vm(100, "here", net0="virtio=02:00:00:00:00:01,bridge=vmbr9")
    with pytest.raises(Permanent, match="bridge 'vmbr9' does not exist") as bridge:
        await follow(client, await client.post(f"{QEMU}/100/status/start"), "start")
    assert "`proxmox.bridge`" in bridge.value.hint


@pytest.mark.parametrize("end", ["unexpected status", "unable to get last line from task log"])
async def test_a_task_whose_worker_died_is_temporary(
    harness: ProxmoxHarness, client: ProxmoxClient, end: str
) -> None:
    harness.world.add_vm(100, "here")
    harness.world.faults.kill_tasks(1, "qmstart", end)
    with pytest.raises(Temporary, match=end):
        await follow(client, await client.post(f"{QEMU}/100/status/start"), "start")


async def test_answers_without_a_task_have_nothing_to_wait_for(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    await follow(client, None, "delete")
    assert not harness.world.calls


async def test_a_task_that_may_not_be_read_is_found_in_the_list(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    """Some servers let a token see its task while it runs, and no more once it has ended."""
    harness.world.add_vm(100, "here")
    denied = "Permission check failed (/nodes/pve, Sys.Audit)"
    harness.world.faults.refuse(403, denied, MANY, "GET", "/nodes/pve/tasks/*/status")
    harness.world.freeze()
    upid = await client.post(f"{QEMU}/100/status/start")
    following = asyncio.create_task(follow(client, upid, "start"))

    async def looked_twice() -> str:
        return "" if len(harness.world.calls) > 4 or following.done() else f"{len(harness.world.calls)} calls"

    await comes_true(looked_twice)
    assert not following.done(), "in the list, too, a task may still run"
    harness.world.clock.thaw()
    await following
    assert harness.world.vms[100].status == "running"
    with pytest.raises(Permanent, match="VM 100 already running"):
        await follow(client, await client.post(f"{QEMU}/100/status/start"), "start")
    with pytest.raises(Temporary, match="cannot be read") as lost:
        await follow(client, "UPID:pve:00000001:00000001:00000001:qmstart:100:somebody@pve:", "start")
    assert "Sys.Audit" in lost.value.hint


async def test_tasks_at_once_are_looked_at_together_and_each_has_its_own_end(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    world = harness.world
    bad = "virtio=02:00:00:00:00:01,bridge=vmbr9"
    for vmid in range(100, 106):
        world.add_vm(vmid, f"vm-{vmid}", **({"net0": bad} if vmid == 103 else {}))
    world.pace.durations["qmstart"] = 100.0
    upids = [await client.post(f"{QEMU}/{vmid}/status/start") for vmid in (*range(100, 106), 999)]
    world.calls.clear()
    following = [asyncio.create_task(follow(client, upid, "start")) for upid in upids]
    await asyncio.sleep(0)
    following[5].cancel()  # as a step that has run out of time: the others do not notice
    ends = await asyncio.gather(*following, return_exceptions=True)
    assert [type(end) for end in ends] == [
        type(None), type(None), type(None), Permanent, type(None), asyncio.CancelledError, Gone,
    ]  # fmt: skip
    assert "vmbr9" in str(ends[3]) and "999" in str(ends[6])
    looks = [path for _, path, _ in world.calls]
    assert "/nodes/pve/tasks" in looks and len(looks) < 7 * 3, looks


async def test_a_look_at_tasks_that_fails_is_told_to_all_who_wait(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    world = harness.world
    for vmid in (100, 101):
        world.add_vm(vmid, f"vm-{vmid}")
    world.freeze()
    upids = [await client.post(f"{QEMU}/{vmid}/status/start") for vmid in (100, 101)]
    world.faults.lose_requests(3, "GET", "/nodes/pve/tasks")
    ends = await asyncio.gather(*(follow(client, upid, "start") for upid in upids), return_exceptions=True)
    assert [type(end) for end in ends] == [Interrupted, Interrupted]
    world.clock.thaw()
    world.settle()
    for upid in upids:
        await follow(client, upid, "start")


async def test_an_answer_that_nobody_expects_ends_the_wait(
    harness: ProxmoxHarness, client: ProxmoxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What looks at tasks for all who wait must not die in silence."""
    harness.world.add_vm(100, "here")
    harness.world.freeze()
    upid = await client.post(f"{QEMU}/100/status/start")

    async def odd(where: str, **_: object) -> list[int]:
        return [] if where.endswith("/log") else [1]

    monkeypatch.setattr(client, "get", odd)
    with pytest.raises(AttributeError):
        async with asyncio.timeout(10):
            await follow(client, upid, "start")


async def test_a_long_task_tells_how_far_it_is(
    harness: ProxmoxHarness, client: ProxmoxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_LOG_EVERY", 0.0)
    world = harness.world
    world.add_volume("local:import/talos.raw", size=8 * 1024 * 1024)
    world.freeze()
    told: list[str] = []

    def report(text: str) -> None:
        told.append(text)
        world.pass_time(0.003)

    with reporting_to(report):
        upid = await client.post(QEMU, vmid=100, scsi0="slow:0,import-from=local:import/talos.raw")
        await follow(client, upid, "create w-1")
    assert told[0] == "create w-1: waiting for Proxmox VE"
    percents = [int(text.removeprefix("create w-1: ").removesuffix(" %")) for text in told if text.endswith(" %")]
    assert percents == sorted(percents) and len(set(percents)) > 3 and percents[0] < 50 < percents[-1]
