"""Sizes of machines in place: what never gets smaller, and what needs a restart."""

from __future__ import annotations

from talosmith.errors import Permanent
from talosmith.model.machines import Machine, MachineSpec


def refuse_less(before: Machine, wanted: MachineSpec) -> None:
    """A disk that gets smaller loses what is at its end."""
    for number, (has, wants) in enumerate(zip(before.disks_mib, wanted.disks_mib, strict=False)):
        if wants < has:
            raise Permanent(
                f"{before.name}: disk {number} has {has} MiB and would shrink to {wants} MiB",
                hint="disks only grow; replace the node to have a smaller one",
            )
    if len(wanted.disks_mib) < len(before.disks_mib):
        raise Permanent(
            f"{before.name} has {len(before.disks_mib)} disks and would lose some of them",
            hint="replace the node, or detach the disk by hand",
        )


def needs_restart(before: Machine, wanted: MachineSpec) -> bool:
    """Growing disks needs none."""
    return (
        (wanted.cpu or before.cpu, wanted.ram_mib or before.ram_mib) != (before.cpu, before.ram_mib)
        or len(wanted.disks_mib) > len(before.disks_mib)
        or bool(before.outdated)
    )  # fmt: skip
