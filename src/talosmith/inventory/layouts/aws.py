"""AWS: a subnet of the VPC for each availability zone, nodes in turn, the API behind a load balancer."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from types import MappingProxyType
from typing import TYPE_CHECKING

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.layouts.layout import Layout, Placement
from talosmith.inventory.numbers import number_of
from talosmith.inventory.parse import Path
from talosmith.inventory.schema import GROUP
from talosmith.model.cluster import Role
from talosmith.model.providers import Aws
from talosmith.model.values import IpAddress, IpNetwork

if TYPE_CHECKING:
    from talosmith.inventory.resolve import Resolved

SUBNET_BITS = 4  # an availability zone has a sixteenth of the VPC
RESERVED = 4  # the first addresses of a subnet, and the last
PREFIXES = range(16, 25)


class AwsLayout(Layout[Aws]):
    settings = frozenset({"instance_type", "az", "extra_disks"})
    node_network = ("aws", "vpc_cidr")
    origins = MappingProxyType(
        {
            "endpoint": "derived: the load balancer at k8s.<aws.domain>",
            "zone": "derived: aws.azs in turn, by the number in the name",
            "instance_type": "from aws.instance_type",
        }
    )

    def node_cidr(self, given: IpNetwork | None, cluster_name: str) -> IpNetwork | None:
        return self.section.vpc_cidr

    def endpoint(self) -> str | Finding:
        if self.section.domain:
            return f"k8s.{self.section.domain}"
        fix = "set `aws.domain` (the API is then at k8s.<domain>) or `network.endpoint`"
        return error(("aws",), "the Kubernetes API has no DNS name", fix=fix)

    def place(
        self, name: str, zone: str | None, host: str | None, path: Path, node_cidr: IpNetwork | None
    ) -> Placement | Finding:
        zones = self.section.azs
        chosen = zone or zones[((number_of(name) or 1) - 1) % len(zones)]
        if chosen not in zones:
            what = f"`{chosen}` is not an availability zone of this cluster"
            return error((*path, "az"), what, fix=f"one of {', '.join(zones)}")
        return Placement(self.subnet(chosen), chosen)

    def subnet(self, zone: str) -> IpNetwork:
        vpc = self.section.vpc_cidr
        start = vpc.network_address + self.section.azs.index(zone) * max(1, vpc.num_addresses >> SUBNET_BITS)
        return ip_network(f"{start}/{min(vpc.prefixlen + SUBNET_BITS, vpc.max_prefixlen)}")

    def instance_type(self, role: Role) -> str | None:
        return str(getattr(self.section.instance_type, GROUP[role]))

    def keeps(self, ip: IpAddress, subnet: IpNetwork) -> tuple[str, str]:
        if int(ip) - int(subnet.network_address) < RESERVED:
            return "is reserved by AWS", "it keeps the first four of each subnet"
        return "", ""

    def can_be_laid_out(self, resolved: Resolved) -> Iterator[Finding]:
        section, network = self.section, resolved.inventory.network
        if section.vpc_cidr.version != 4 or section.vpc_cidr.prefixlen not in PREFIXES:
            what = f"a VPC of {section.vpc_cidr} cannot be divided"
            yield error(("aws", "vpc_cidr"), what, "each zone gets a sixteenth, of at least /28", "use /16 to /24")
        if network.node_cidr is not None:
            yield error(
                ("network", "node_cidr"), "on AWS the nodes' network is `aws.vpc_cidr`", fix="remove this one"
            )
        if network.vip is not None:
            what = "a VIP does not work on AWS"
            yield error(
                ("network", "vip"), what, "the network does not carry it", "the load balancer takes its place"
            )
        for index, zone in enumerate(section.azs):
            if not zone.startswith(section.region):
                yield error(("aws", "azs", index), f"`{zone}` is not a zone of {section.region}")
            if zone in section.azs[:index]:
                yield error(("aws", "azs", index), f"`{zone}` is listed twice")

    rules = (can_be_laid_out,)
