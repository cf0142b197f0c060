"""All that the inventory says about a cluster on AWS, as the provider uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.providers.aws import Aws, zone_subnet
from talosmith.model.values import IpNetwork
from talosmith.providers.aws.marks import Marks

KUBERNETES, TALOS = 6443, 50000


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsSettings:
    section: Aws
    owner: Owner
    specs: Mapping[str, MachineSpec]  # of all nodes, by name
    record: str = ""  # DNS name that Route 53 gets, if any
    endpoint_to_come: bool = False  # the API is at the load balancer's own name
    between: float = 2.0  # seconds between looks at something that takes its time
    settle: float = 3.0  # seconds after which rivals see each other's VPC
    marks: Marks = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", Marks(self.owner, self.section.tags))

    @property
    def controlplanes(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, spec in self.specs.items() if spec.role == "controlplane"))

    @property
    def makes_subnets(self) -> bool:
        return not self.section.subnets

    @property
    def balancer_is_public(self) -> bool:
        return not self.section.balancer.internal

    def subnet_cidr(self, zone: str, *, public: bool = False) -> IpNetwork:
        return zone_subnet(self.section, zone, public=public)

    def group(self, role: str) -> str:
        """The inventory's word for the nodes of a role."""
        return "controlplane" if role == "controlplane" else "workers"

    def policies(self, role: str) -> tuple[str, ...]:
        return tuple(sorted(set(getattr(self.section.iam, self.group(role)))))

    def instance_type(self, spec: MachineSpec) -> str:
        return spec.node.instance_type or str(getattr(self.section.instance_type, self.group(spec.role)))
