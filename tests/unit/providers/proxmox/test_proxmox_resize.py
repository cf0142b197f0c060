"""Changes of a machine on Proxmox VE in place: CPU, memory, disks, network and tags, with a restart where needed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from talosmith.errors import Temporary
from talosmith.model.machines import Machine, MachineSpec
from tests.machine_specs import with_settings
from tests.provider_contract import refusal
from tests.unit.providers.proxmox.proxmox_harness import AtChange, ProxmoxHarness
from tests.unit.providers.proxmox.proxmox_vms import config_of, unchanged

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]

LINK = "virtio=52:54:00:00:00:65"


async def resized(harness: ProxmoxHarness, machine: Machine, spec: MachineSpec) -> tuple[Machine, list[str]]:
    """And the tasks that it took."""
    before = list(harness.world.tasks.all)
    changed = await harness.provider().resize(machine, spec)
    (found,) = await harness.provider().find()
    assert found == changed, "as the next plan sees it"
    return changed, [task.type for upid, task in harness.world.tasks.all.items() if upid not in before]


async def test_cpu_and_memory_change_with_a_restart(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    changed, done = await resized(harness, machine, with_settings(harness.spec("w-1"), cpu=4, ram_mib=4096))
    assert (changed.id, changed.cpu, changed.ram_mib, changed.power) == (machine.id, 4, 4096, "on")
    assert done == ["qmshutdown", "qmstart"]
    assert not harness.world.vms[3000].pending
    again, done = await resized(harness, changed, with_settings(harness.spec("w-1"), cpu=4, ram_mib=4096))
    assert (again, done) == (changed, [])


async def test_a_guest_that_does_not_shut_down_is_switched_off_in_the_end(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    harness.world.vms[3000].obeys_shutdown = False
    changed, done = await resized(harness, machine, with_settings(harness.spec("w-1"), cpu=4))
    assert (changed.cpu, changed.power, done) == (4, "on", ["qmshutdown", "qmstart"])


async def test_values_that_wait_for_the_next_start_are_not_what_a_machine_has(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    vm = harness.world.vms[3000]
    vm.pending = {"memory": "4096", "cores": 8}
    (found,) = await harness.provider().find()
    assert (found.cpu, found.ram_mib) == (3, 3072)
    changed, _ = await resized(harness, machine, with_settings(harness.spec("w-1"), ram_mib=4096))
    assert (changed.cpu, changed.ram_mib) == (3, 4096) and not vm.pending, "eight cores are not in the inventory"


async def test_a_disk_grows_while_the_machine_runs(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    changed, done = await resized(harness, machine, with_settings(harness.spec("w-1"), disks_mib=(20480, 6000)))
    assert changed.disks_mib == (20480, 6000) and done == ["resize", "resize"]


async def test_a_disk_is_added(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    changed, done = await resized(harness, machine, with_settings(harness.spec("w-1"), disks_mib=(10240, 5120, 5121)))
    assert changed.disks_mib == (10240, 5120, 5121) and done == ["qmshutdown", "qmstart"]
    assert "scsi2" in harness.world.vms[3000].config


@pytest.mark.parametrize("disks", [(8192, 5120), (10240,)])
async def test_a_disk_never_shrinks(harness: ProxmoxHarness, disks: tuple[int, ...]) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    untouched = unchanged(harness, harness.world.vms[3000])
    await refusal(provider.resize(machine, with_settings(harness.spec("w-1"), disks_mib=disks, cpu=4)))
    assert untouched(), "nothing else was changed before"


async def test_a_storage_that_rounds_up_makes_no_difference(harness: ProxmoxHarness) -> None:
    """LVM has extents of 4 MiB."""
    spec = with_settings(harness.spec("w-1"), disks_mib=(10241,))
    harness.nodes = {**harness.nodes, "w-1": spec}
    machine = await harness.provider().create(spec)
    vm = harness.world.vms[3000]
    vm.config["scsi0"] = re.sub("size=[^,]*", "size=10244M", vm.config["scsi0"])
    (found,) = await harness.provider().find()
    assert found.disks_mib == (10241,)
    _, done = await resized(harness, machine, spec)
    assert done == []


@pytest.mark.parametrize(
    ("options", "differs", "key", "value"),
    [
        ({"bridge": "vmbr1"}, "network from bridge vmbr0 to bridge vmbr1", "net0", f"{LINK},bridge=vmbr1"),
        ({"vlan": 7}, "network from bridge vmbr0 to bridge vmbr0 VLAN 7", "net0", f"{LINK},bridge=vmbr0,tag=7"),
        ({"tags": ["prod"]}, "prod", "tags", "prod;talosmith;talosmith-0123456789abcdef;worker"),
        ({"autostart": False}, "autostart from on to off", "onboot", "0"),
        ({"start_order": 2}, "start order from none to order=3", "startup", "order=3"),
    ],
)  # fmt: skip
async def test_what_changes_while_the_machine_runs(
    harness: ProxmoxHarness, options: dict[str, Any], differs: str, key: str, value: str
) -> None:
    harness.world.add_bridge("vmbr1")
    machine = await harness.provider().create(harness.spec("w-1"))
    harness.options = options
    (found,) = await harness.provider().find()
    assert differs in found.outdated_running and found.outdated == ""
    changed, done = await resized(harness, machine, harness.spec("w-1"))
    assert changed.outdated_running == "" and done == [], "no restart"
    assert config_of(harness, 3000)[key] == value and not harness.world.vms[3000].pending


async def test_a_change_that_was_decided_on_an_old_config_is_not_made(harness: ProxmoxHarness) -> None:
    """The user changes the VM between our look and our change."""
    machine = await harness.provider().create(harness.spec("w-1"))
    config = harness.world.vms[3000].config
    rule = AtChange("slow", 1)
    rule.left = 1
    rule.struck = lambda: config.update(net0=f"{LINK},bridge=vmbr0,tag=99")
    harness.world.faults.rules.append(rule)
    harness.options = {"tags": ["prod"], "vlan": 7}
    with pytest.raises(Temporary, match="file change by other user"):
        await harness.provider().resize(machine, harness.spec("w-1"))
    assert "tag=99" in config["net0"] and "prod" not in config["tags"]
    changed = await harness.provider().resize(machine, harness.spec("w-1"))
    assert changed.outdated_running == "" and "tag=7" in config["net0"]


async def test_another_mac_address_or_cpu_type_needs_a_restart(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    other = with_settings(harness.spec("w-1"), mac="52:54:00:00:99:99")
    harness.nodes = {**harness.nodes, "w-1": other}
    harness.options = {"cpu_type": "x86-64-v3"}
    (found,) = await harness.provider().find()
    assert "MAC address from 52:54:00:00:00:65 to 52:54:00:00:99:99" in found.outdated
    assert "CPU type from host to x86-64-v3" in found.outdated
    changed, done = await resized(harness, machine, other)
    assert changed.outdated == "" and done == ["qmshutdown", "qmstart"]
