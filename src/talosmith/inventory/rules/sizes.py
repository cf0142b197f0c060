"""Machine sizes. The limits are those that Talos checks at boot."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.inventory.findings import Finding, error, warning
from talosmith.inventory.resolve import Resolved
from talosmith.model.cluster import Role
from talosmith.model.disks import DiskDevice, DiskSerial

_FIRMWARE_MIB = 150  # of a machine's memory, used by firmware and kernel
MINIMUM_RAM: dict[Role, int] = {"controlplane": 1848 - _FIRMWARE_MIB, "worker": 1024 - _FIRMWARE_MIB}
GOOD_RAM: dict[Role, int] = {"controlplane": 4096 - _FIRMWARE_MIB, "worker": 2048 - _FIRMWARE_MIB}
MINIMUM_DISK_MIB = 6 * 1024
GOOD_CPU: dict[Role, int] = {"controlplane": 2, "worker": 1}
NOUN: dict[Role, str] = {"controlplane": "control plane", "worker": "worker"}
SMALL_NUMBER = 512  # no machine has so few MiB: GiB are meant


def machines_can_boot(resolved: Resolved) -> Iterator[Finding]:
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        least = MINIMUM_RAM[node.role]
        if node.ram_mib is not None and node.ram_mib < least:
            what = f"`{node.name}`: {node.ram_mib} MiB of memory is not enough for Talos"
            fix = f"did you mean {node.ram_mib}G?" if node.ram_mib <= SMALL_NUMBER else ""
            yield error(place.of("ram"), what, f"a {NOUN[node.role]} needs at least {least} MiB", fix)
        if node.disk_mib is not None and node.disk_mib < MINIMUM_DISK_MIB:
            what = f"`{node.name}`: a disk of {node.disk_mib / 1024:g}G is too small for Talos"
            yield error(place.of("disk"), what, "Talos needs at least 6G")


def machines_have_room(resolved: Resolved) -> Iterator[Finding]:
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        good = GOOD_RAM[node.role]
        if node.ram_mib is not None and MINIMUM_RAM[node.role] <= node.ram_mib < good:
            what = f"`{node.name}`: {node.ram_mib} MiB of memory leaves little for Kubernetes"
            yield warning(place.of("ram"), what, f"{good + _FIRMWARE_MIB} MiB is recommended for a {NOUN[node.role]}")
        if node.cpu is not None and node.cpu < GOOD_CPU[node.role]:
            yield warning(place.of("cpu"), f"`{node.name}`: a control plane with {node.cpu} CPU is slow", fix="use 2")


def disk_is_chosen_one_way(resolved: Resolved) -> Iterator[Finding]:
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        disk = place.own.disk if place.gives("disk") and place.own else place.group.disk
        selected = node.install_disk is not None and node.install_disk.selector is not None
        if selected and isinstance(disk, DiskDevice | DiskSerial):
            what = f"`{node.name}`: both `disk` and `disk_selector` select the install disk"
            yield error(place.of("disk_selector"), what, fix="keep one of the two")
