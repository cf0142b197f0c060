"""The lab: a loopback network for each cluster, with a VIP."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from ipaddress import ip_network
from types import MappingProxyType
from typing import TYPE_CHECKING

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.layouts.layout import Layout
from talosmith.inventory.numbers import address_at
from talosmith.model.providers import Lab
from talosmith.model.values import IpAddress, IpNetwork

if TYPE_CHECKING:
    from talosmith.inventory.resolve import Resolved

VIP_OFFSET = 5


def lab_network_of(cluster_name: str) -> str:
    """The cluster's own loopback network: several labs run side by side."""
    return f"127.{16 + hashlib.sha256(cluster_name.encode()).digest()[0] % 224}.0.0/16"


class LabLayout(Layout[Lab]):
    settings = frozenset({"extra_disks", "cpu", "ram"})
    origins = MappingProxyType(
        {
            "node_cidr": "derived: a loopback network from the hash of cluster_name",
            "vip": f"derived: network.node_cidr + {VIP_OFFSET}",
        }
    )

    def node_cidr(self, given: IpNetwork | None, cluster_name: str) -> IpNetwork | None:
        return given or ip_network(lab_network_of(cluster_name))

    def vip(self, node_cidr: IpNetwork | None, controlplanes: int) -> IpAddress | None:
        return address_at(node_cidr, VIP_OFFSET) if node_cidr is not None and controlplanes > 1 else None

    def stays_on_loopback(self, resolved: Resolved) -> Iterator[Finding]:
        why, fix = "the lab listens on this computer only", "remove `node_cidr`, or use a network in 127.0.0.0/8"
        network = resolved.cluster.network.node_cidr
        if network is not None and not network.is_loopback:
            yield error(("network", "node_cidr"), f"{network} is not a loopback network", why, fix)

    rules = (stays_on_loopback,)
