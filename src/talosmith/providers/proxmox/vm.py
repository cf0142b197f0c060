"""A VM as its config describes it: read back from Proxmox, and what of it differs from the inventory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from talosmith.providers.proxmox.marker import Marker, read

_MIB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024, "": 1 / 1024 / 1024}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)")
CREATING = ("create", "clone")  # locks of a VM that is being made
SEED_DRIVE, ISO_DRIVE = "ide2", "ide0"  # q35 has no other IDE drives
EMPTY_DRIVE = "none,media=cdrom"
ROUNDED = 4  # MiB: LVM makes disks a little larger


@dataclass(frozen=True, slots=True)
class Disk:
    slot: str  # scsi0
    volume: str  # local-lvm:vm-2000-disk-1
    mib: int


@dataclass(frozen=True, slots=True)
class Vm:
    vmid: int
    host: str  # Proxmox node
    config: Mapping[str, Any]

    @property
    def marker(self) -> Marker:
        return read(str(self.config.get("description", "")), self.vmid)

    @property
    def name(self) -> str:
        return str(self.config.get("name", ""))

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(filter(None, re.split("[;, ]", str(self.config.get("tags", "")))))

    @property
    def lock(self) -> str:
        return str(self.config.get("lock", ""))

    @property
    def being_made(self) -> bool:
        """By a task that runs now. Until it ends, whose the VM will be need not be in the config."""
        return self.lock in CREATING

    @property
    def digest(self) -> str:
        return str(self.config.get("digest", ""))

    @property
    def is_template(self) -> bool:
        return bool(int(self.config.get("template") or 0))

    @property
    def is_protected(self) -> bool:
        return bool(int(self.config.get("protection") or 0))

    @property
    def uuid(self) -> str:
        return properties(str(self.config.get("smbios1", ""))).get("uuid", "")

    @property
    def id(self) -> str:
        """A VM that is created later with the same VMID has another."""
        return f"{self.vmid}/{self.uuid}"

    @property
    def cpu(self) -> int:
        return int(self.config.get("cores") or 1) * int(self.config.get("sockets") or 1)

    @property
    def ram_mib(self) -> int:
        return int(properties(str(self.config.get("memory", "512")), "current").get("current", 512))

    @property
    def disks(self) -> tuple[Disk, ...]:
        """In the order of their slots; without CD drives."""
        slots = sorted((key for key in self.config if re.fullmatch(r"scsi\d+", key)), key=lambda key: int(key[4:]))
        return tuple(disk for slot in slots if (disk := self._disk(slot)) is not None)

    def _disk(self, slot: str) -> Disk | None:
        found = properties(str(self.config[slot]), "file")
        if found.get("media") == "cdrom":
            return None
        return Disk(slot, found.get("file", ""), mib_of(found.get("size", "")))

    @property
    def interface(self) -> dict[str, str]:
        """Of `net0`: model, MAC address, bridge, VLAN tag."""
        found = properties(str(self.config.get("net0", "")))
        for model in ("virtio", "e1000", "e1000e", "vmxnet3", "rtl8139"):
            if model in found:
                found |= {"model": model, "mac": found[model].lower()}
        return found

    def media(self, drive: str) -> str:
        """The volume in a CD drive; empty if there is none."""
        volume = properties(str(self.config.get(drive, "")), "file").get("file", "")
        return "" if volume in ("", "none", "cdrom") else volume

    @property
    def has_agent(self) -> bool:
        return properties(str(self.config.get("agent", "0")), "enabled").get("enabled") == "1"

    def volumes(self) -> Iterator[str]:
        """Of all its disks, the firmware's and the TPM's too."""
        for key, value in self.config.items():
            if re.fullmatch(r"(?:scsi|virtio|sata|ide|efidisk|tpmstate|unused)\d+", key):
                volume = properties(str(value), "file").get("file", "")
                if volume not in ("", "none", "cdrom"):
                    yield volume


def properties(text: str, first: str = "") -> dict[str, str]:
    """`virtio=52:…,bridge=vmbr0`; a first part without a name is `first`."""
    found = {}
    for number, part in enumerate(text.split(",")):
        name, equals, value = part.partition("=")
        if equals:
            found[name] = value
        elif number == 0 and first and part:
            found[first] = part
    return found


def mib_of(size: str) -> int:
    found = _SIZE.fullmatch(size)
    return round(float(found[1]) * _MIB[found[2]]) if found else 0
