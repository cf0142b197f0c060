"""Deletion on Proxmox VE: of machines with their disks, and of NoCloud seeds, without those of other nodes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from talosmith.errors import Temporary
from tests.machine_specs import with_settings
from tests.provider_contract import refusal
from tests.simulators.proxmox import Proxmox
from tests.unit.providers.proxmox.proxmox_harness import ISO, QEMU, ProxmoxHarness, proxmox, spec_of
from tests.unit.providers.proxmox.proxmox_vms import CONFIG, config_of, seeds, unchanged
from tests.waiting import comes_true

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]


async def test_a_protected_vm_is_not_touched(harness: ProxmoxHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"), CONFIG)
    harness.world.vms[3000].config["protection"] = 1
    untouched = unchanged(harness, harness.world.vms[3000])
    refused = await refusal(provider.destroy(machine))
    assert "protect" in str(refused) and "Protection" in refused.hint
    assert untouched() and seeds(harness) == ["w-1"], "it runs, and has its seed"


async def test_a_machine_that_does_not_shut_down_is_deleted_all_the_same(harness: ProxmoxHarness) -> None:
    """Also while a shutdown by somebody else waits for it, with the lock of the VM."""
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    harness.world.vms[3000].obeys_shutdown = False
    await provider.client.post(f"{QEMU}/3000/status/shutdown", timeout=1_000_000)
    await provider.destroy(machine)
    assert not harness.world.vms and ("POST", f"{QEMU}/3000/status/stop") in harness.changes()


async def test_a_machine_that_an_earlier_run_is_deleting(harness: ProxmoxHarness) -> None:
    """That run was killed; its task goes on, and the VM is gone while we switch it off."""
    world = harness.world
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    await provider.power(machine, on=False)
    world.freeze()
    await provider.client.delete(f"{QEMU}/3000", purge=1)
    deleting = asyncio.create_task(provider.destroy(machine))

    async def stopping() -> str:
        return "" if [task for task in world.tasks.active() if task.type == "qmstop"] else "no such task yet"

    await comes_true(stopping)
    world.clock.thaw()
    await deleting
    assert not world.vms and seeds(harness) == []


async def test_disks_that_are_not_in_use_go_with_the_machine(harness: ProxmoxHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    world = harness.world
    world.add_volume("second:3000/vm-3000-disk-7.raw", size=1024, vmid=3000)
    world.add_volume("local:3000/vm-3000-disk-8.raw", size=1024, vmid=3000)
    world.add_volume("local:700/vm-700-disk-0.raw", size=1024, vmid=700)
    world.vms[3000].config["unused0"] = "second:3000/vm-3000-disk-7.raw"
    await provider.destroy(machine)
    assert {*world.volumes} == {ISO, "local:700/vm-700-disk-0.raw"}


async def test_a_seed_is_detached_and_deleted_with_the_iso_and_no_other(tmp_path: Path) -> None:
    """`w-1` is the beginning of `w-1-2`, and another node."""
    longer = with_settings(spec_of("w-2"), name="w-1-2")
    nodes = {"w-1": spec_of("w-1"), "w-1-2": longer}
    with proxmox(tmp_path, nodes=nodes) as harness:
        provider = harness.provider()
        machine = await provider.create(nodes["w-1"], CONFIG)
        await provider.create(longer, CONFIG)
        assert seeds(harness) == ["w-1", "w-1-2"]
        harness.world.add_volume(
            "local:iso/talosmith-fedcba9876543210-seed-w-1-0123456789abcdef.iso", content=b"other"
        )
        assert await provider.forget_seed(machine)
        assert seeds(harness) == ["w-1-2"] and ISO in harness.world.volumes
        assert "local:iso/talosmith-fedcba9876543210-seed-w-1-0123456789abcdef.iso" in harness.world.volumes
        config = config_of(harness, 3000)
        assert (config["ide0"], config["ide2"]) == ("none,media=cdrom", "none,media=cdrom")
        assert harness.world.vms[3000].status == "running" and not {"ide0", "ide2"} & {
            *harness.world.vms[3000].pending
        }
        found = {one.name: one for one in await provider.find()}
        assert (found["w-1"].seeded, found["w-1-2"].seeded) == (False, True)
        assert not await provider.forget_seed(machine), "there is none any more"
        assert (await provider.create(nodes["w-1"], CONFIG)).seeded is False, "a machine that exists gets no new one"


async def test_an_iso_that_the_user_has_inserted_stays_in_its_drive(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"), CONFIG)
    harness.world.add_volume("local:iso/memtest.iso", content=b"tests")
    harness.world.vms[3000].config["ide0"] = "local:iso/memtest.iso,media=cdrom"
    assert await harness.provider().forget_seed(machine)
    config = config_of(harness, 3000)
    assert (config["ide0"], config["ide2"]) == ("local:iso/memtest.iso,media=cdrom", "none,media=cdrom")


async def test_a_seed_that_stayed_behind_when_its_machine_moved(tmp_path: Path) -> None:
    """The ISO storage is each host's own: the seed is where the machine was created."""
    world = Proxmox(nodes=("pve", "pve2"))
    world.storages["second"].shared = True
    with proxmox(tmp_path, world, options={"datastore": "second"}) as harness:
        machine = await harness.provider().create(harness.spec("w-1"), CONFIG)
        world.vms[3000].node = "pve2"
        assert await harness.provider().forget_seed(machine) and seeds(harness) == []


async def test_a_seed_of_a_node_that_is_no_more_in_the_inventory_is_found_and_deleted(
    harness: ProxmoxHarness,
) -> None:
    harness.world.faults.lose_requests(1, "POST", QEMU)
    with pytest.raises(Temporary):
        await harness.provider().create(harness.spec("w-1"), CONFIG)
    harness.nodes = {"w-2": harness.spec("w-2")}
    provider = harness.provider()
    (left,) = await provider.find()
    assert left.name == "w-1" and left.unfinished and left.seeded
    await provider.destroy(left)
    assert seeds(harness) == [] and await provider.find() == []
