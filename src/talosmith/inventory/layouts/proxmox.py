"""Proxmox VE: VMIDs that follow from names, and the node of the Proxmox cluster that runs each machine."""

from __future__ import annotations

import hashlib
from types import MappingProxyType

from talosmith.inventory.findings import Finding
from talosmith.inventory.layouts import proxmox_rules
from talosmith.inventory.layouts.layout import Layout, Placement
from talosmith.inventory.numbers import number_of
from talosmith.inventory.parse import Path
from talosmith.inventory.schema import GROUP
from talosmith.model.cluster import Role
from talosmith.model.providers import Proxmox
from talosmith.model.values import IpNetwork

_VMIDS_BY_HASH = 1000


def vmid_of(name: str, base: int) -> int:
    return base + _position(name, _VMIDS_BY_HASH)


def _position(name: str, hashed: int) -> int:
    """From zero on by the number in the name; without a number by the hash of the name, below `hashed`."""
    number = number_of(name)
    if number is None:
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % hashed
    return number - 1


class ProxmoxLayout(Layout[Proxmox]):
    settings = frozenset({"vmid", "host", "extra_disks", "cpu", "ram"})
    rules = proxmox_rules.RULES

    def __init__(self, section: Proxmox) -> None:
        super().__init__(section)
        host = "derived: proxmox.hosts in turn, by the {numbered}" if section.hosts else "from proxmox.node"
        self.origins = MappingProxyType({"vmid": "derived: proxmox.vmid_base + {numbered}", "host": host})

    def place(
        self, name: str, zone: str | None, host: str | None, path: Path, node_cidr: IpNetwork | None
    ) -> Placement | Finding:
        hosts = self.section.nodes
        in_turn = hosts[_position(name, len(hosts)) % len(hosts)] if hosts else None
        return Placement(node_cidr, host=host or in_turn)

    def vmid(self, name: str, role: Role) -> int | None:
        return vmid_of(name, getattr(self.section.vmid_base, GROUP[role]))
