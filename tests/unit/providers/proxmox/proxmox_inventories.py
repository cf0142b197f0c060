"""Inventories of Proxmox VE that differ in the privileges that their machines need."""

from __future__ import annotations

from talosmith.providers.proxmox.settings import Boot
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness, disk_image


def from_iso(harness: ProxmoxHarness) -> None:
    pass


def from_image(harness: ProxmoxHarness) -> None:
    harness.boot = Boot("image", disk_image(harness.folder))


def from_made_template(harness: ProxmoxHarness) -> None:
    harness.boot = Boot("template", disk_image(harness.folder))


def from_made_template_in_a_pool(harness: ProxmoxHarness) -> None:
    from_made_template(harness)
    in_a_pool(harness)


def from_linked_template(harness: ProxmoxHarness) -> None:
    harness.world.add_volume("local:900/base-900-disk-0.raw", size=1024 * 1024, vmid=900)
    disk = "local:900/base-900-disk-0.raw,size=1M"
    harness.world.add_vm(900, "golden", template=1, scsi0=disk, net0="virtio=02:00:00:00:00:01,bridge=vmbr0")
    harness.boot = Boot("template", template="golden")
    harness.options = {**harness.options, "clone": "linked"}


def from_linked_template_into_a_pool(harness: ProxmoxHarness) -> None:
    from_linked_template(harness)
    in_a_pool(harness)


def in_a_pool(harness: ProxmoxHarness) -> None:
    harness.world.add_pool("talos")
    harness.options = {**harness.options, "pool": "talos"}


def with_everything(harness: ProxmoxHarness) -> None:
    harness.world.add_lvm_thin()
    harness.options = {
        "datastore": "local-lvm", "iso_storage": "second", "vlan": 20, "start_order": 3, "tpm": True,
    }  # fmt: skip


KINDS = [
    from_iso,
    from_image,
    from_made_template,
    from_made_template_in_a_pool,
    from_linked_template,
    from_linked_template_into_a_pool,
    in_a_pool,
    with_everything,
]
