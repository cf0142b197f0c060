"""Which disk Talos is installed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talosmith.desired.config.cel.evaluate import selects_disk
from talosmith.desired.config.cel.parse import CelError
from talosmith_lab.machine import Disk


def find_install_disk(disks: Sequence[Disk], match: str) -> Disk | None:
    """The first that an expression selects."""
    return next((disk for disk in disks if match and _selects(match, disk)), None)


def listed(disk: Disk) -> dict[str, Any]:
    """A disk with the fields that Talos lists it with, and selectors ask for."""
    return {
        "dev_path": disk.device,
        "size": disk.size,
        "io_size": 512,
        "sector_size": 512,
        "readonly": False,
        "cdrom": False,
        "rotational": False,
        "model": disk.model,
        "serial": disk.serial,
        "modalias": disk.transport,
        "bus_path": f"/virtio/{disk.name}",
        "sub_system": "/sys/class/block",
        "transport": disk.transport,
        "symlinks": [f"/dev/disk/by-id/virtio-{disk.serial}"],
    }


def _selects(match: str, disk: Disk) -> bool:
    try:
        return selects_disk(match, listed(disk))
    except CelError:
        return False
