"""Docker: a network of containers, without disks."""

from __future__ import annotations

from ipaddress import ip_network

from talosmith.inventory.layouts.layout import Layout
from talosmith.model.providers import Docker
from talosmith.model.values import IpNetwork

NETWORK = ip_network("10.5.0.0/24")


class DockerLayout(Layout[Docker]):
    settings = frozenset({"cpu", "ram"})

    def node_cidr(self, given: IpNetwork | None, cluster_name: str) -> IpNetwork | None:
        return given or NETWORK
