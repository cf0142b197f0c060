"""Proxmox VE: VMIDs that follow from names, and the node of the Proxmox cluster that runs the machines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.layouts.layout import Layout, Placement
from talosmith.inventory.numbers import number_of
from talosmith.inventory.parse import Path
from talosmith.inventory.schema import GROUP
from talosmith.model.cluster import Role
from talosmith.model.providers import Proxmox
from talosmith.model.values import IpNetwork

if TYPE_CHECKING:
    from talosmith.inventory.resolve import Resolved

_VMIDS_BY_HASH = 1000


def vmid_of(name: str, base: int) -> int:
    number = number_of(name)
    if number is None:
        return base + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % _VMIDS_BY_HASH
    return base + number - 1


class ProxmoxLayout(Layout[Proxmox]):
    settings = frozenset({"vmid", "extra_disks", "cpu", "ram"})
    origins = MappingProxyType({"vmid": "derived: proxmox.vmid_base + {numbered}"})

    def place(self, name: str, zone: str | None, path: Path, node_cidr: IpNetwork | None) -> Placement | Finding:
        return Placement(node_cidr, host=self.section.node)

    def vmid(self, name: str, role: Role) -> int | None:
        return vmid_of(name, getattr(self.section.vmid_base, GROUP[role]))

    def is_trusted_one_way(self, resolved: Resolved) -> Iterator[Finding]:
        if self.section.fingerprint and self.section.ca:
            what = "both `fingerprint` and `ca` are set"
            yield error(("proxmox", "ca"), what, fix="keep `fingerprint` (self-signed hosts) or `ca`")

    rules = (is_trusted_one_way,)
