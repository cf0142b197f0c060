"""New machines on Proxmox VE: their VM options, and their disks from an ISO, an image or a template."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talosmith.model.services import Image
from talosmith.providers.proxmox import options
from talosmith.tasks import in_thread
from tests.machine_specs import with_settings
from tests.provider_contract import refusal
from tests.simulators.proxmox import Proxmox
from tests.unit.providers.proxmox.proxmox_harness import ISO, ProxmoxHarness, proxmox, spec_of
from tests.unit.providers.proxmox.proxmox_vms import (
    CONFIG,
    IMAGE,
    KINDS,
    SEED,
    config_of,
    from_image,
    from_template,
    linked,
    seeds,
    unchanged,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]


async def test_a_machine_from_an_iso_has_exactly_these_options(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"), CONFIG)
    config = config_of(harness, 3000)
    uuid = machine.id.partition("/")[2]
    (seed,) = [volume for volume in harness.world.volumes if SEED.fullmatch(volume)]
    description = config.pop("description")
    assert config == {
        "name": "w-1",
        "ostype": "l26",
        "machine": "q35",
        "bios": "ovmf",
        "efidisk0": "local:3000/vm-3000-disk-0.raw,efitype=4m,pre-enrolled-keys=0,size=528K",
        "scsihw": "virtio-scsi-pci",
        "scsi0": "local:3000/vm-3000-disk-1.raw,discard=on,size=10G,ssd=1",
        "scsi1": "local:3000/vm-3000-disk-2.raw,discard=on,size=5G,ssd=1",
        "cores": "3",
        "sockets": "1",
        "memory": "3072",
        "balloon": "0",
        "cpu": "host",
        "serial0": "socket",
        "agent": "enabled=0",
        "net0": "virtio=52:54:00:00:00:65,bridge=vmbr0",
        "onboot": "1",
        "boot": "order=scsi0;ide0",
        "tags": "talosmith;talosmith-0123456789abcdef;worker",
        "smbios1": f"uuid={uuid}",
        "ide0": f"{ISO},media=cdrom,size={config['ide0'].partition('size=')[2]}",
        "ide2": f"{seed},media=cdrom,size={config['ide2'].partition('size=')[2]}",
    }
    line = "cluster=tested id=0123456789abcdef node=w-1 role=worker vmid=3000 address=127.99.99.101"
    assert f"\ntalosmith machine {line}\n" in description and "unfinished" not in description
    assert b"machine: {}" in harness.world.volume_bytes(seed), "the seed has the config"
    assert (machine.power, machine.seeded, machine.unfinished, machine.outdated) == ("on", True, False, "")
    assert harness.world.vms[3000].status == "running"


async def test_options_of_the_inventory(harness: ProxmoxHarness) -> None:
    harness.world.add_pool("talos")
    harness.options = {
        "pool": "talos", "vlan": 20, "start_order": 5, "autostart": False, "cpu_type": "x86-64-v3", "tags": ["prod"],
        "scsi_controller": "virtio-scsi-single", "bridge": "vmbr1",
    }  # fmt: skip
    harness.world.add_bridge("vmbr1")
    await harness.provider().create(harness.spec("w-1"))
    await harness.provider().create(harness.spec("cp-1"))
    config = config_of(harness, 3000)
    assert harness.world.pools["talos"].vms == {2000, 3000}
    assert config["net0"] == "virtio=52:54:00:00:00:65,bridge=vmbr1,tag=20"
    assert (config["onboot"], config["cpu"], config["scsihw"]) == ("0", "x86-64-v3", "virtio-scsi-single")
    assert config["tags"] == "prod;talosmith;talosmith-0123456789abcdef;worker"
    assert (config["startup"], config_of(harness, 2000)["startup"]) == ("order=6", "order=5"), "workers come next"


@pytest.mark.parametrize(
    ("options", "has", "has_not"),
    [
        ({"firmware": "bios"}, {"bios": "seabios"}, ("efidisk0", "tpmstate0")),
        ({"tpm": True}, {"bios": "ovmf", "tpmstate0": "local:3000/vm-3000-disk-3.raw,size=4M,version=v2.0"}, ()),
    ],
)
async def test_firmware_and_tpm(
    harness: ProxmoxHarness, options: dict[str, Any], has: dict[str, str], has_not: tuple[str, ...]
) -> None:
    harness.options = options
    await harness.provider().create(harness.spec("w-1"))
    config = config_of(harness, 3000)
    assert {name: config[name] for name in has} == has and not set(has_not) & set(config)
    if "efidisk0" in config:
        assert "pre-enrolled-keys=0" in config["efidisk0"], "Microsoft's keys keep Talos from enrolling its own"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_guest_agent_is_expected_only_where_the_image_has_it(
    harness: ProxmoxHarness, kind: Callable[[ProxmoxHarness], None]
) -> None:
    """Where it is expected and missing, each shutdown hangs until it times out."""
    kind(harness)
    image = Image(extensions=["siderolabs/qemu-guest-agent"])
    with_agent = with_settings(spec_of("w-1"), image=image)
    harness.nodes = {**harness.nodes, "w-1": with_agent}
    await harness.provider().create(with_agent)
    await harness.provider().create(harness.spec("w-2"))
    assert [config_of(harness, vmid)["agent"] for vmid in (3000, 3001)] == ["enabled=1", "enabled=0"]


async def test_a_machine_from_an_image_has_the_image_on_a_disk_of_its_size(harness: ProxmoxHarness) -> None:
    from_image(harness)
    machine = await harness.provider().create(harness.spec("w-1"))
    config = config_of(harness, 3000)
    assert machine.disks_mib == (10240, 5120) and not machine.unfinished
    assert "size=10G" in config["scsi0"] and "size=5G" in config["scsi1"] and "discard=on" in config["scsi0"]
    disk = harness.world.volumes[config["scsi0"].partition(",")[0]]
    assert disk.origin is harness.world.volumes[IMAGE] and disk.virtual_size == 10 * 2**30
    assert "ide0" not in config and config["boot"] == "order=scsi0"
    assert "unfinished" not in config["description"]


@pytest.mark.parametrize("kind", [from_template, linked])
async def test_a_clone_has_nothing_of_its_template_but_the_disk(
    harness: ProxmoxHarness, kind: Callable[[ProxmoxHarness], None]
) -> None:
    kind(harness)
    await in_thread(lambda: harness.world.add_pool("talos"))
    harness.options = {**harness.options, "pool": "talos"}
    template = unchanged(harness, harness.world.vms[900])
    machine = await harness.provider().create(harness.spec("w-1"))
    config = config_of(harness, 3000)
    assert (machine.cpu, machine.ram_mib, machine.disks_mib) == (3, 3072, (10240, 5120))
    assert config["tags"].split(";") == ["golden", "talosmith", "talosmith-0123456789abcdef", "worker"]
    assert "talosmith machine " in config["description"] and "template" not in config["description"]
    assert config["net0"] == "virtio=52:54:00:00:00:65,bridge=vmbr0"
    assert (config["cpu"], config["onboot"], config["name"]) == ("host", "1", "w-1")
    assert machine.seeded and seeds(harness) == ["w-1"] and harness.world.pools["talos"].vms == {3000}
    disk = harness.world.volumes[config["scsi0"].partition(",")[0]]
    assert (disk.parent is None) == (kind is from_template), "linked or not"
    assert template()


async def test_a_disk_that_is_smaller_than_the_image_is_refused(harness: ProxmoxHarness) -> None:
    from_image(harness)
    refused = await refusal(harness.provider().create(with_settings(harness.spec("w-1"), disks_mib=(1024,))))
    assert "1024 MiB" in str(refused) and "2048 MiB" in str(refused) and "`disk`" in refused.hint


async def test_two_hosts(tmp_path: Path) -> None:
    world = Proxmox(nodes=("pve", "pve2"))
    world.add_volume(ISO, content=b"boots", node="pve2")
    there = with_settings(spec_of("w-2"), host="pve2")
    nodes = {"w-1": spec_of("w-1"), "w-2": there}
    with proxmox(tmp_path, world, nodes=nodes, options={"node": None, "hosts": ["pve", "pve2"]}) as harness:
        provider = harness.provider()
        for spec in nodes.values():
            await provider.create(spec, CONFIG)
        assert [world.vms[vmid].node for vmid in (3000, 3001)] == ["pve", "pve2"]
        (seed,) = [one for one in world.volumes.values() if "seed-w-2" in one.volid]
        assert seed.node == "pve2", "a seed is where its machine is"
        for machine in await provider.find():
            assert await provider.forget_seed(machine)
            await provider.destroy(machine)
        assert not world.vms and not seeds(harness)


def test_a_disk_of_an_odd_size_is_not_too_small() -> None:
    """Proxmox counts in GiB, with a fraction, and rounds down."""
    for mib in (1, 7, 8, 100, 1000, 1023, 1025, 51_201):
        size = options.new_disk("local", mib).partition(":")[2].partition(",")[0]
        assert int(float(size) * 2**30) >= mib * 2**20, size
