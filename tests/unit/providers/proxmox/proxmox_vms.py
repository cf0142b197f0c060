"""VMs on the simulated Proxmox VE: what they boot from, and their config, seeds and state for comparison."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from talosmith.model.secret import Secret
from talosmith.providers.proxmox.settings import Boot
from tests.simulators.proxmox import VM
from tests.unit.providers.proxmox.proxmox_harness import ISO, ProxmoxHarness

IMAGE = "local:import/talos.raw"
SEED = re.compile(r"local:iso/talosmith-0123456789abcdef-seed-([a-z0-9-]+)-[0-9a-f]{16}\.iso")
CONFIG = Secret("machine: {}")


def from_iso(harness: ProxmoxHarness) -> None:
    harness.boot = Boot("iso", volume=ISO)


def from_image(harness: ProxmoxHarness) -> None:
    """Of 2 GiB, so that the machine's disk is grown."""
    harness.world.add_volume(IMAGE, size=1024 * 1024, virtual=2 * 2**30)
    harness.boot = Boot("image", volume=IMAGE)


def from_template(harness: ProxmoxHarness) -> None:
    """One that two other clusters use, too, with values of its own in all that a machine has."""
    for number, size in ((0, 2 * 2**30), (1, 528 * 1024)):
        harness.world.add_volume(f"local:900/base-900-disk-{number}.raw", size=4096, virtual=size, vmid=900)
    harness.world.add_vm(
        900, "golden", tags="golden;talosmith;talosmith-fedcba9876543210;talosmith-template", template=1,
        description="talosmith template image=x storage=local vmid=900\n", bios="ovmf", machine="q35", cores=1,
        memory="1024", cpu="x86-64-v2-AES", onboot=0, boot="order=scsi0", scsihw="virtio-scsi-pci",
        efidisk0="local:900/base-900-disk-1.raw,efitype=4m,pre-enrolled-keys=0,size=528K",
        scsi0="local:900/base-900-disk-0.raw,size=2G", net0="virtio=02:00:00:00:00:01,bridge=vmbr0,firewall=1",
    )  # fmt: skip
    harness.boot = Boot("template", template="golden")


def linked(harness: ProxmoxHarness) -> None:
    from_template(harness)
    harness.options = {**harness.options, "clone": "linked"}


KINDS = [from_iso, from_image, from_template]


def config_of(harness: ProxmoxHarness, vmid: int) -> dict[str, Any]:
    """Without what Proxmox VE makes up."""
    config = harness.world.vms[vmid].config
    return {name: str(value) for name, value in config.items() if name not in ("vmgenid", "meta")}


def seeds(harness: ProxmoxHarness) -> list[str]:
    """The nodes that there are seeds of."""
    return sorted(found[1] for volume in harness.world.volumes if (found := SEED.fullmatch(volume)))


def unchanged(harness: ProxmoxHarness, vm: VM) -> Callable[[], bool]:
    before = repr(vm)
    return lambda: repr(vm) == before and harness.world.vms.get(vm.vmid) is vm
