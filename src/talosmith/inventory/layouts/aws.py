"""AWS: a subnet of the VPC for each availability zone, nodes in turn, the API behind a load balancer."""

from __future__ import annotations

from types import MappingProxyType

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.layouts import aws_rules
from talosmith.inventory.layouts.layout import Layout, Placement
from talosmith.inventory.numbers import number_of
from talosmith.inventory.parse import Path
from talosmith.inventory.schema import GROUP
from talosmith.model.cluster import ENDPOINT_TO_COME, Role
from talosmith.model.providers.aws import Aws, zone_subnet
from talosmith.model.values import IpAddress, IpNetwork

RESERVED = 4  # the first addresses of a subnet, and the last


class AwsLayout(Layout[Aws]):
    settings = frozenset({"instance_type", "az", "extra_disks"})
    node_network = ("aws", "vpc_cidr")
    rules = aws_rules.RULES
    origins = MappingProxyType(
        {
            "endpoint": "derived: the load balancer, at k8s.<aws.domain> or its own name",
            "zone": "derived: aws.azs in turn, by the number in the name",
            "instance_type": "from aws.instance_type",
        }
    )

    def node_cidr(self, given: IpNetwork | None, cluster_name: str) -> IpNetwork | None:
        return self.section.vpc_cidr

    def endpoint(self) -> str | Finding:
        return f"k8s.{self.section.domain}" if self.section.domain else ENDPOINT_TO_COME

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
        given = self.section.subnets.get(zone)
        return given.cidr if given is not None else zone_subnet(self.section, zone)

    def instance_type(self, role: Role) -> str | None:
        return str(getattr(self.section.instance_type, GROUP[role]))

    def keeps(self, ip: IpAddress, subnet: IpNetwork) -> tuple[str, str]:
        if int(ip) - int(subnet.network_address) < RESERVED:
            return "is reserved by AWS", "it keeps the first four of each subnet"
        return "", ""
