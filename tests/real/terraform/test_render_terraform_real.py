"""What `talosmith render terraform` writes is accepted by OpenTofu and the real providers, and creates the machines.

Proxmox VE is simulated; libvirt is real. OpenTofu reaches loopback alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real.libvirt.daemon import Daemon
from tests.real.libvirt.halting import HALTS
from tests.real.terraform.conftest import Render, Start
from tests.real.terraform.tofu import planned_machines
from tests.simulators.proxmox import Proxmox, serving

GIB = 2**30
NODES = ("talos-cp-01", "talos-w-01", "talos-w-02")  # of the example for Proxmox


@pytest.mark.parametrize("example", ["proxmox", "proxmox-inventory", "libvirt-ha"])
def test_the_folder_is_valid_and_formatted(example: str, render: Render, start: Start) -> None:
    tofu = start(render(example))
    assert json.loads(tofu("validate", "-json")) == {
        "format_version": "1.0",
        "valid": True,
        "error_count": 0,
        "warning_count": 0,
        "diagnostics": [],
    }
    assert tofu("fmt", "-check", "-recursive") == ""


# Proxmox VE


@dataclass(frozen=True, slots=True)
class Host:
    """A simulated Proxmox VE, and what the environment says of it."""

    world: Proxmox
    url: str
    environment: dict[str, str]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    world = Proxmox(nodes=("hydra",))
    world.nodes["hydra"].kvm = True
    with serving(world) as server:
        (tmp_path / "ca.pem").write_text(server.ca)
        token = "=".join(world.tokens["root"])
        trusted = {"PROXMOX_VE_API_TOKEN": token, "SSL_CERT_FILE": str(tmp_path / "ca.pem")}
        yield Host(world, server.url, trusted)


def at(host: Host) -> Callable[[str], str]:
    """The example with the address of the simulated API."""
    return lambda text: text.replace("https://192.168.1.10:8006", host.url)


def test_the_plan_for_proxmox(render: Render, start: Start, host: Host) -> None:
    tofu = start(render("proxmox", at(host)), **host.environment)
    planned = tofu.plan()
    assert sorted(one["address"] for one in planned["resource_changes"]) == [
        'proxmox_download_file.image["hydra/talos-talos-v1.14.1-37656798-nocloud-amd64.qcow2"]',
        *(f'proxmox_virtual_environment_file.seed["{name}"]' for name in NODES),
        *(f'proxmox_virtual_environment_vm.machine["{name}"]' for name in NODES),
    ]
    assert all(one["change"]["actions"] == ["create"] for one in planned["resource_changes"])
    machines = planned_machines(planned, "proxmox_virtual_environment_vm")
    assert {name: one["vm_id"] for name, one in machines.items()} == dict(zip(NODES, (2000, 3000, 3001), strict=True))
    one = machines["talos-w-02"]
    assert (one["name"], one["node_name"], one["bios"], one["machine"]) == ("talos-w-02", "hydra", "ovmf", "q35")
    assert (one["cpu"][0]["cores"], one["cpu"][0]["type"]) == (4, "host")
    assert (one["memory"][0]["dedicated"], one["memory"][0]["floating"]) == (3072, 0)
    disks = [(disk["interface"], disk["size"], disk["datastore_id"]) for disk in one["disk"]]
    assert disks == [("scsi0", 50, "local"), ("scsi1", 50, "local")]
    (card,) = one["network_device"]
    assert (card["bridge"], card["mac_address"], card["vlan_id"]) == ("vmbr0", "52:54:00:C2:00:02", 0)
    assert (one["efi_disk"][0]["type"], one["efi_disk"][0]["pre_enrolled_keys"]) == ("4m", False)
    assert (one["scsi_hardware"], one["boot_order"]) == ("virtio-scsi-pci", ["scsi0", "ide2"])
    assert one["agent"][0]["enabled"] is False
    assert (one["stop_on_destroy"], one["tags"]) == (True, ["talos", "terraform", "worker"])
    assert "talosmith" not in json.dumps(one), "the machine is Terraform's"


def test_machines_on_proxmox(render: Render, start: Start, host: Host, tmp_path: Path) -> None:
    image = tmp_path / "talos.raw"
    image.write_bytes(HALTS.ljust(1024 * 1024, b"\0"))

    def change(text: str) -> str:
        return at(host)(text).replace("  boot: iso\n", f"  image: {image}\n")

    folder = render("proxmox", change)
    tofu = start(folder, **host.environment)
    tofu.apply()
    assert sorted(host.world.vms) == [2000, 3000, 3001]
    vm = host.world.vms[3001]
    assert (vm.name, vm.status, vm.config["cores"], int(vm.config["memory"])) == ("talos-w-02", "running", 4, 3072)
    assert "52:54:00:C2:00:02" in vm.config["net0"] and "bridge=vmbr0" in vm.config["net0"]
    assert "size=50G" in vm.config["scsi0"] and "size=50G" in vm.config["scsi1"]
    seed = vm.config["ide2"].partition(",")[0]
    assert host.world.volume_bytes(seed) == (folder / "seeds" / "talos-w-02" / "seed.iso").read_bytes()
    assert tofu.changes() == {}

    # A machine config that changed: the machine gets another CD, and stays.
    own = folder / "seeds" / "talos-w-02" / "seed.iso"
    own.write_bytes(own.read_bytes() + bytes(2048))
    assert tofu.changes() == {
        'proxmox_virtual_environment_file.seed["talos-w-02"]': ["create", "delete"],
        'proxmox_virtual_environment_vm.machine["talos-w-02"]': ["update"],
    }
    tofu.apply()
    assert host.world.vms[3001].status == "running" and tofu.changes() == {}

    # Nodes are installed: the seeds hold secrets and are not needed any more.
    tofu.apply("-var=attach_seeds=false")
    assert tofu.changes("-var=attach_seeds=false") == {}
    assert not [volid for volid in host.world.volumes if "seed" in volid]

    # A new version of Talos: no machine is replaced.
    newer = tmp_path / "newer.raw"
    newer.write_bytes(image.read_bytes())
    render("proxmox", lambda text: text.replace(str(image), str(newer)))
    changes = tofu.changes("-var=attach_seeds=false")
    assert not [address for address in changes if "_vm." in address]

    tofu.destroy()
    assert not host.world.vms and not list(host.world.volumes)


@pytest.mark.parametrize(
    "settings",
    [
        "template: talos-template, clone: linked",
        "template: 9000, datastore: local-lvm",
        "iso: 'local:iso/talos.iso', seed: false, tpm: true, pool: lab, vlan: 20, start_order: 2",
        "image: 'local:import/talos.raw', firmware: bios, autostart: false, cpu_type: 'x86-64-v3,flags=+aes'",
    ],
)
def test_other_ways_to_start_on_proxmox(settings: str, render: Render, start: Start, host: Host) -> None:
    world = host.world
    world.add_lvm_thin()
    world.add_pool("lab")
    world.add_volume("local:9000/base-9000-disk-0.raw", size=GIB)
    world.add_vm(9000, "talos-template", template=1, scsi0="local:9000/base-9000-disk-0.raw,size=1G", bios="ovmf")
    world.add_volume("local:iso/talos.iso", bytes(4096))
    world.add_volume("local:import/talos.raw", bytes(4096))
    before = (set(world.vms), set(world.volumes))

    def change(text: str) -> str:
        section = f"proxmox: {{url: '{host.url}', node: hydra, datastore: local, {settings}}}\n"
        if "datastore" in settings:
            section = section.replace("datastore: local, ", "", 1)
        return text.partition("proxmox:\n")[0] + section

    tofu = start(render("proxmox", change), **host.environment)
    tofu.apply()
    assert {vm.status for vmid, vm in world.vms.items() if vmid != 9000} == {"running"}
    assert tofu.changes() == {}
    tofu.destroy()
    assert (set(world.vms), set(world.volumes)) == before


# libvirt


def _variables(folder: Path, libvirtd: Daemon, image: Path) -> None:
    """The example's, for the daemon of the test: software emulation, a tiny image, a network and pool of its own."""
    file = folder / "terraform.tfvars.json"
    values: dict[str, Any] = json.loads(file.read_text())
    values |= {
        "uri": libvirtd.uri,
        "domain_type": "qemu",
        "pool": {"name": "terraform", "path": f"{libvirtd.pool_path}-terraform"},
        "network": {"name": "terraform", "mode": "none", "cidr": "10.0.0.0/24"},
    }
    for one in values["images"].values():
        one["source"] = str(image)
    values["machines"]["talos-w-1"]["disks_gib"] += [3]
    file.write_text(json.dumps(values))


def test_machines_on_libvirt(render: Render, start: Start, libvirtd: Daemon, tmp_path: Path) -> None:
    image = tmp_path / "image.raw"
    image.write_bytes(HALTS.ljust(64 * 1024, b"\0"))
    folder = render("libvirt-ha")
    _variables(folder, libvirtd, image)
    tofu = start(folder, "nsenter", f"--net={libvirtd.network}")
    planned = tofu.plan()
    kinds = [one["type"] for one in planned["resource_changes"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "libvirt_domain": 6,
        "libvirt_network": 1,
        "libvirt_pool": 1,
        "libvirt_volume": 6 * 3 + 1,  # image, disk and seed for each, and a second disk
        "terraform_data": 6,
    }
    assert all(one["change"]["actions"] == ["create"] for one in planned["resource_changes"])
    domains = planned_machines(planned, "libvirt_domain")
    found = domains["talos-w-2"]
    assert (found["name"], found["vcpu"], found["memory"], found["autostart"]) == ("talos-talos-w-2", 4, 8192, True)
    assert found["network_interface"][0]["mac"] == "52:54:00:c2:00:02"
    disks = planned_machines(planned, "libvirt_volume")
    assert disks["talos-w-1-disk1"]["size"] == 3 * GIB

    tofu.apply()
    assert tofu.changes() == {}
    xml = libvirtd.run("virsh", "-c", "qemu:///system", "dumpxml", "talos-talos-w-1")
    assert "<vcpu placement='static'>4</vcpu>" in xml and "52:54:00:c2:00:01" in xml
    assert xml.count("device='disk'") == 2 and xml.count("device='cdrom'") == 1
    assert "talosmith" not in xml, "the machine is Terraform's"

    seed = folder / "seeds" / "talos-cp-1" / "seed.iso"
    seed.write_bytes(seed.read_bytes() + bytes(2048))
    changes = tofu.changes()
    assert set(changes) == {'libvirt_volume.seed["talos-cp-1"]', 'terraform_data.seed["talos-cp-1"]'}, "no machine"
    tofu.destroy()
    assert libvirtd.run("virsh", "-c", "qemu:///system", "list", "--all", "--name").split() == []


def test_a_new_version_of_talos_replaces_no_machine_on_libvirt(
    render: Render, start: Start, libvirtd: Daemon, tmp_path: Path
) -> None:
    """Talos upgrades itself. A machine that is created anew starts from the new image."""
    old, new = tmp_path / "old.raw", tmp_path / "new.raw"
    for image in (old, new):
        image.write_bytes(HALTS.ljust(64 * 1024, b"\0"))
    folder = render("libvirt-ha")
    _variables(folder, libvirtd, old)
    tofu = start(folder, "nsenter", f"--net={libvirtd.network}")
    tofu.apply()
    render("libvirt-ha")
    _variables(folder, libvirtd, new)
    assert tofu.changes() == {}
    assert tofu.changes('-replace=libvirt_volume.image["talos-w-3"]') == {
        'libvirt_volume.image["talos-w-3"]': ["delete", "create"],
        'libvirt_volume.system["talos-w-3"]': ["delete", "create"],
        'libvirt_domain.machine["talos-w-3"]': ["delete", "create"],
    }
    tofu.destroy()
