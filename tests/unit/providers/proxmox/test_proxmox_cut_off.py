"""A create on Proxmox VE that is interrupted at any call: the next run finishes the machine or deletes it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import Temporary
from talosmith.model.machines import Machine
from talosmith.providers.proxmox import machines, making
from talosmith.providers.proxmox import provider as provider_module
from talosmith.providers.proxmox.client import ProxmoxClient
from talosmith.providers.proxmox.lookup import Lookup
from tests.provider_contract import persist, refusal
from tests.simulators.proxmox import Proxmox
from tests.unit.providers.proxmox.proxmox_harness import MANY, OWNER, QEMU, AtChange, ProxmoxHarness, proxmox
from tests.unit.providers.proxmox.proxmox_vms import CONFIG, KINDS, SEED, config_of, from_image, from_template, seeds
from tests.waiting import comes_true

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]


def strike(harness: ProxmoxHarness, number: int, how: str, task: asyncio.Task[Any]) -> AtChange:
    loop = asyncio.get_running_loop()
    rule = AtChange({"request": "before", "answer": "after"}.get(how, "slow"), 1)  # type: ignore[arg-type]
    rule.left = number
    rule.struck = (lambda: loop.call_soon_threadsafe(task.cancel)) if how == "kill" else lambda: None  # type: ignore[assignment]
    harness.world.faults.rules.append(rule)
    return rule


def shape(harness: ProxmoxHarness, vmid: int) -> str:
    """The config, without what differs between any two machines."""
    text = repr(sorted(config_of(harness, vmid).items()))
    for pattern in (
        r"uuid=[0-9a-f-]+",
        rf"\b{vmid}\b",
        r"\bw-\d+\b",
        r"52:54:[0-9A-F:]+",
        r"127\.99\.99\.\d+",
        r"-[0-9a-f]{16}\.iso",
    ):
        text = re.sub(pattern, "…", text)
    text = text.replace("order=scsi0;ide2", "order=scsi0")  # Proxmox VE appends CD drives as they are set
    return re.sub(r"disk-\d+", "disk", text)


@pytest.mark.parametrize("how", ["request", "answer", "kill"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_create_that_was_cut_off_anywhere_is_finished_by_the_next(
    harness: ProxmoxHarness, kind: Callable[[ProxmoxHarness], None], how: str
) -> None:
    """Each time at another change: the request is lost, its answer, or the process that sent it."""
    kind(harness)
    world = harness.world
    await harness.provider().create(harness.spec("w-30"), CONFIG)
    whole = shape(harness, 3029)
    for number in range(1, 20):
        spec = harness.spec(f"w-{number}")
        vmid = spec.node.vmid or 0
        task = asyncio.create_task(harness.provider().create(spec, CONFIG))
        rule = strike(harness, number, how, task)
        outcome = await asyncio.gather(task, return_exceptions=True)
        if rule.left > 0:
            assert number > 3 and isinstance(outcome[0], Machine), "there was nothing to strike at"
            break
        assert isinstance(outcome[0], Temporary | asyncio.CancelledError), outcome
        world.faults.clear()
        world.settle()
        left = world.vms.get(vmid)
        uuid = left.config.get("smbios1") if left is not None else None
        listed = [one for one in await harness.provider().find() if one.name == spec.name]
        there = left is not None or spec.name in seeds(harness)
        assert [one.id.partition("/")[0] for one in listed] == ([str(vmid)] if there else [])
        made = await persist(lambda spec=spec: harness.provider().create(spec, CONFIG))  # type: ignore[misc]
        assert uuid in (None, world.vms[vmid].config["smbios1"]), "the same VM"
        assert shape(harness, vmid) == whole and made.power == "on" and not made.unfinished
        assert seeds(harness).count(spec.name) == 1
    else:
        raise AssertionError("it never came to its end")


@pytest.mark.parametrize("kind", [from_image, from_template])
async def test_what_was_cut_off_is_found_and_deleted(
    harness: ProxmoxHarness, kind: Callable[[ProxmoxHarness], None]
) -> None:
    kind(harness)
    before = sorted(harness.world.volumes)
    for number in range(1, 10):
        spec = harness.spec(f"w-{number}")
        task = asyncio.create_task(harness.provider().create(spec, CONFIG))
        rule = strike(harness, number, "request", task)
        await asyncio.gather(task, return_exceptions=True)
        harness.world.faults.clear()
        if rule.left > 0:
            break
    provider = harness.provider()
    found = await provider.find()
    assert len(found) >= 3 and any(one.unfinished for one in found)
    for machine in found:
        await provider.destroy(machine)
    assert [vm for vm in harness.world.vms if vm != 900] == []
    left = {*harness.world.volumes} - {*before}
    assert all(SEED.fullmatch(one) for one in left), "disks were left"
    begun = {one.name for one in found}
    assert not begun & {*seeds(harness)}, "seeds were left"


async def test_a_vm_in_the_making_is_unfinished_and_left_alone_until_its_task_ends(harness: ProxmoxHarness) -> None:
    from_image(harness)
    world = harness.world
    await harness.provider().create(harness.spec("w-2"))  # the seed's upload needs no time below
    world.pace.durations["qmcreate"] = 10_000.0
    creating = asyncio.create_task(harness.provider().create(harness.spec("w-1")))

    async def begun() -> str:
        return "" if 3000 in world.vms else "no VM yet"

    await comes_true(begun)
    world.freeze()
    creating.cancel()  # as a run that was killed; Proxmox VE goes on
    (machine,) = [one for one in await harness.provider().find() if one.name == "w-1"]
    assert machine.unfinished and machine.role == "worker" and machine.tags == OWNER.tags("w-1", "worker")
    world.calls.clear()
    deleting = asyncio.create_task(harness.provider().destroy(machine))

    async def looked() -> str:
        return "" if len(world.calls) > 8 else f"{len(world.calls)} looks"

    await comes_true(looked)
    assert not deleting.done() and not harness.changes()
    world.clock.thaw()
    world.pass_time(100.0)
    await deleting
    assert 3000 not in world.vms and seeds(harness) == ["w-2"]


async def test_a_vm_whose_task_ends_while_machines_are_listed_is_listed(
    harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its config said `lock: create`, and the list of tasks that came after has no task any more. No seed tells."""
    from_image(harness)
    harness = replace(harness, options={**harness.options, "seed": False})
    world = harness.world
    world.pace.durations["qmcreate"] = 10_000.0
    creating = asyncio.create_task(harness.provider().create(harness.spec("w-1")))

    async def begun() -> str:
        return "" if 3000 in world.vms else "no VM yet"

    await comes_true(begun)
    world.freeze()
    creating.cancel()
    asked = machines.makes_vms

    async def ends_before(client: ProxmoxClient, node: str) -> bool:
        world.clock.thaw()
        world.pass_time(20_000.0)
        return await asked(client, node)

    monkeypatch.setattr(machines, "makes_vms", ends_before)
    (machine,) = await harness.provider().find()
    assert machine.name == "w-1" and machine.unfinished
    monkeypatch.undo()
    await harness.provider().destroy(machine)
    assert 3000 not in world.vms


async def test_a_vm_that_comes_while_machines_are_listed_is_listed(
    harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of a killed run may arrive after the list of VMs was read; the seed, which came before, tells."""
    harness.world.faults.lose_requests(MANY, method="POST", path=QEMU)
    with pytest.raises(Temporary, match="broke"):
        await harness.provider().create(harness.spec("w-1"), CONFIG)
    harness.world.faults.clear()
    assert seeds(harness) == ["w-1"] and not harness.world.vms
    listed = machines.Machines.standing

    async def created_after(self: machines.Machines) -> Sequence[Machine]:
        found = await listed(self)
        await harness.provider().create(harness.spec("w-1"), CONFIG)
        return found

    monkeypatch.setattr(machines.Machines, "standing", created_after)
    (machine,) = await harness.provider().find()
    assert machine.name == "w-1" and machine.seeded and machine.power == "on" and not machine.unfinished


async def test_a_vm_that_somebody_else_is_making_with_our_vmid_is_not_ours(tmp_path: Path) -> None:
    world = Proxmox()
    with proxmox(tmp_path, world) as harness:
        world.add_token("talos@pve", "smith", {"/": "Administrator"}, privsep=False)
        world.pace.durations["qmcreate"] = 10_000.0
        world.freeze()
        other = replace(harness, token="smith").client()
        await other.post(QEMU, vmid=3000, name="theirs")
        await other.close()
        assert await harness.provider().find() == []
        world.settle()
        assert "theirs" in str(await refusal(harness.provider().create(harness.spec("w-1"))))


async def test_a_lock_that_a_dead_task_left_is_told_with_the_way_out(
    harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "Lookup", partial(Lookup, abandoned_after=0.02))
    monkeypatch.setattr(making, "_IN_THE_MAKING", 5.0)  # in which a task that works would be waited for
    harness.world.faults.kill_tasks(1, "qmcreate")
    with pytest.raises(Temporary, match="unexpected status"):
        await harness.provider().create(harness.spec("w-1"))
    assert harness.world.vms[3000].lock == "create"
    refused = await refusal(harness.provider().create(harness.spec("w-1")))
    assert "'create'" in str(refused) and "VM 3000 on pve" in str(refused)
    assert "`qm unlock 3000 && qm destroy 3000`" in refused.hint
    assert harness.changes().count(("POST", QEMU)) == 1
