"""Power of machines on Proxmox VE: on and off, under high availability, and while another run changes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talosmith.providers.proxmox.lookup import Lookup
from tests.machine_specs import with_settings
from tests.simulators.proxmox import HaResource, Proxmox
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness, proxmox
from tests.unit.providers.proxmox.proxmox_vms import CONFIG, seeds

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]


async def test_power_is_switched_only_where_it_must_be(harness: ProxmoxHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    harness.world.calls.clear()
    for on in (True, False, False, True, True):
        await provider.power(machine, on)
    actions = [path.rpartition("/")[2] for _, path in harness.changes()]
    assert actions == ["stop", "start"]


@pytest.mark.parametrize("on", [True, False])
async def test_another_run_that_was_faster_is_no_error(
    harness: ProxmoxHarness, on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine is in the wanted state between our look and our call: the task fails, and all is well."""
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    await provider.power(machine, not on)
    real = Lookup.power
    looks: list[str] = []

    async def faster(self: Lookup, host: str, vmid: int) -> Any:
        seen = await real(self, host, vmid)
        if not looks:
            looks.append(seen)
            await harness.provider().power(machine, on)
        return seen

    monkeypatch.setattr(Lookup, "power", faster)
    await provider.power(machine, on)
    assert harness.world.vms[3000].status == ("running" if on else "stopped")


async def test_high_availability_does_it_later(harness: ProxmoxHarness) -> None:
    """The task ends when the wish is noted; the machine is off, or on, only some time after that."""
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    harness.world.ha["vm:3000"] = HaResource("vm:3000")
    await provider.power(machine, on=False)
    assert harness.world.vms[3000].status == "stopped"
    await provider.power(machine, on=True)
    assert harness.world.vms[3000].status == "running"
    await provider.destroy(machine)
    assert not harness.world.vms and not harness.world.ha


async def test_a_machine_that_high_availability_has_moved(tmp_path: Path) -> None:
    world = Proxmox(nodes=("pve", "pve2"))
    for storage in world.storages.values():
        storage.shared = True
    with proxmox(tmp_path, world) as harness:
        provider = harness.provider()
        machine = await provider.create(harness.spec("w-1"), CONFIG)
        world.ha["vm:3000"] = HaResource("vm:3000")
        world.vms[3000].node = "pve2"
        (found,) = await provider.find()
        assert found.id == machine.id and found.power == "on"
        await provider.power(machine, on=False)
        await provider.power(machine, on=True)
        assert (await provider.create(harness.spec("w-1"))).id == machine.id, "no twin where it was"
        changed = await provider.resize(machine, with_settings(harness.spec("w-1"), cpu=4))
        assert changed.cpu == 4 and await provider.forget_seed(machine)
        await provider.destroy(machine)
        assert not world.vms and not seeds(harness)
        assert [volume for volume in world.volumes if "3000" in volume] == []
