"""The options of a VM as the inventory wants it: for creating it, for finishing a clone, for changing it in place."""

from __future__ import annotations

import math
import uuid as uuids
from collections.abc import Mapping

from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.services import GUEST_AGENT
from talosmith.providers.proxmox.client import Value, written
from talosmith.providers.proxmox.marker import TAG, TEMPLATE_TAG, describe_machine, owner_tag
from talosmith.providers.proxmox.settings import Boot, ProxmoxSettings
from talosmith.providers.proxmox.vm import EMPTY_DRIVE, ISO_DRIVE, SEED_DRIVE

_DISK = "discard=on,ssd=1"
Options = dict[str, Value]


def vmid_of(spec: MachineSpec) -> int:
    if spec.node.vmid is None:
        raise AssertionError(f"{spec.name} has no VMID")
    return spec.node.vmid


def created(
    settings: ProxmoxSettings, owner: Owner, spec: MachineSpec, boot: Boot, volume: str, seed: str
) -> Options:
    """For `POST /nodes/{node}/qemu`. `volume`: of the image or ISO; `seed`: of the seed, or empty."""
    section, vmid = settings.section, vmid_of(spec)
    sizes = spec.disks_mib or (8192,)
    first = new_disk(section.datastore, sizes[0]) if boot.is_iso else imported(section.datastore, volume)
    options: Options = {
        "vmid": vmid,
        **hardware(settings, spec),
        **chosen(settings, owner, spec, boot),
        **firmware(settings),
        "smbios1": f"uuid={uuids.uuid4()}",
        "scsi0": first,
        **{f"scsi{number}": new_disk(section.datastore, mib) for number, mib in enumerate(sizes[1:], start=1)},
        "description": describe_machine(owner, spec, vmid, unfinished=not boot.is_iso),
        SEED_DRIVE: f"{seed},media=cdrom" if seed else EMPTY_DRIVE,
    }
    if boot.is_iso:
        options[ISO_DRIVE] = f"{volume},media=cdrom"
    if section.pool:
        options["pool"] = section.pool
    return options


def template(settings: ProxmoxSettings, name: str, vmid: int, volume: str, description: str) -> Options:
    """Talos only: no config, no identity, no network interface that a clone would inherit the address of."""
    return {
        "vmid": vmid,
        "name": name,
        "ostype": "l26",
        "machine": "q35",
        **firmware(settings),
        "scsihw": settings.section.scsi_controller,
        "scsi0": imported(settings.section.datastore, volume),
        "cores": 2,
        "memory": 2048,
        "balloon": 0,
        "cpu": settings.section.cpu_type,
        "serial0": "socket",
        "boot": "order=scsi0",
        "onboot": False,
        "tags": ";".join((TAG, TEMPLATE_TAG)),
        "description": description,
        **({"pool": settings.section.pool} if settings.section.pool else {}),
    }


def hardware(settings: ProxmoxSettings, spec: MachineSpec) -> Options:
    """What an ISO, an image and a clone have in common, and only a restart changes."""
    section = settings.section
    return {
        "name": spec.name,
        "ostype": "l26",
        "machine": "q35",
        "scsihw": section.scsi_controller,
        "cores": spec.cpu or 2,
        "sockets": 1,
        "memory": spec.ram_mib or 2048,
        "balloon": 0,  # Talos gives no memory back
        "cpu": section.cpu_type,
        "serial0": "socket",
        "agent": f"enabled={int(GUEST_AGENT in spec.node.image.extensions)}",
    }


def chosen(settings: ProxmoxSettings, owner: Owner, spec: MachineSpec, boot: Boot) -> Options:
    """What can be changed while the machine runs."""
    options: Options = {
        "net0": interface(settings, spec),
        "onboot": settings.section.autostart,
        "boot": f"order=scsi0;{ISO_DRIVE}" if boot.is_iso else "order=scsi0",
        "tags": ";".join(tags(settings, owner, spec)),
    }
    if (order := settings.section.start_order_of(spec.role)) is not None:
        options["startup"] = f"order={order}"
    return options


def firmware(settings: ProxmoxSettings) -> Options:
    """No keys are enrolled in advance: for secure boot the ISO of Talos enrolls its own."""
    section = settings.section
    options: Options = {"bios": "seabios" if section.firmware == "bios" else "ovmf"}
    if section.firmware == "uefi":
        options["efidisk0"] = f"{section.datastore}:1,efitype=4m,pre-enrolled-keys=0"
    if section.tpm:
        options["tpmstate0"] = f"{section.datastore}:1,version=v2.0"
    return options


def interface(settings: ProxmoxSettings, spec: MachineSpec) -> str:
    section = settings.section
    model = f"virtio={spec.mac.upper()}" if spec.mac else "virtio"
    vlan = f",tag={section.vlan}" if section.vlan else ""
    return f"{model},bridge={section.bridge}{vlan}"


def tags(settings: ProxmoxSettings, owner: Owner, spec: MachineSpec) -> tuple[str, ...]:
    """As Proxmox keeps them after a change: lower case, sorted, each once."""
    return tuple(sorted({TAG, owner_tag(owner), spec.role, *settings.section.tags}))


def new_disk(storage: str, mib: int) -> str:
    """Proxmox counts new disks in GiB, with a fraction where need be."""
    gib = mib / 1024
    size = str(int(gib)) if gib == math.floor(gib) else f"{gib:.10f}".rstrip("0")
    return f"{storage}:{size},{_DISK}"


def imported(storage: str, volume: str) -> str:
    return f"{storage}:0,import-from={volume},{_DISK}"


def differing(config: Mapping[str, object], wanted: Options) -> Options:
    """Those of `wanted` that the config has otherwise."""
    return {name: value for name, value in wanted.items() if str(config.get(name, "")) != written(value)}
