"""`aws:` in the inventory, and the part of the VPC that each availability zone gets."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from talosmith.model.providers.base import ProviderSection
from talosmith.model.section import Section, shorthand
from talosmith.model.values import DomainName, IpNetwork, Network, wrong


class PerRole(Section):
    controlplane: str
    workers: str


AWS_POLICIES = ("cloud-controller", "ebs-csi", "ecr-read-only")  # those that have a short name


def _policy(value: str) -> str:
    if value not in AWS_POLICIES and not re.fullmatch(r"arn:aws[a-z-]*:iam::(aws|\d{12}):policy/\S+", value):
        known = ", ".join(f"`{name}`" for name in AWS_POLICIES)
        raise wrong(f"`{value}` is not a policy", fix=f"one of {known}, or the ARN of a policy")
    return value


Policy = Annotated[str, AfterValidator(_policy)]


class PoliciesPerRole(Section):
    controlplane: list[Policy] = []
    workers: list[Policy] = []


def _for_both_roles(value: Any) -> Any:
    return value if isinstance(value, dict) else {"controlplane": value, "workers": value}


class ExistingSubnet(Section):
    id: Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]
    cidr: Network
    """network of the subnet, as it is"""


class AwsBalancer(Section):
    internal: bool = False
    """reachable from inside the VPC only"""
    talos_api: bool = False
    """the Talos API of the control planes, too, at port 50000"""


def _aws_tag(value: str) -> str:
    if value.startswith(("aws:", "talosmith", "kubernetes.io/")) or value == "Name":
        raise wrong(f"`{value}` is a tag that AWS, talosmith or Kubernetes sets", fix="choose another name")
    return value


def _hosted_zone(value: str) -> str:
    text = value.removeprefix("/hostedzone/").rstrip(".")
    if not re.fullmatch(r"Z[A-Z0-9]{1,31}|([a-z0-9_-]+\.)+[a-z0-9-]+", text):
        fix = "its name, as example.org, or its id, as Z0123456789ABCDEFGHIJ"
        raise wrong(f"`{value}` is not a hosted zone", fix=fix)
    return text


_KMS_KEY = (
    r"(arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:)?alias/[\w/-]+"
    r"|(arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/)?([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})"
)


def _kms_key(value: str) -> str:
    if not re.fullmatch(_KMS_KEY, value):
        fix = "its id, as 01234567-89ab-cdef-0123-456789abcdef, an alias, as alias/talos, or an ARN of one of them"
        raise wrong(f"`{value}` is not a KMS key", fix=fix)
    return value


AwsTag = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w .:=+@-]+$"), AfterValidator(_aws_tag)]


class Aws(ProviderSection):
    """EC2 instances in their own VPC.

    The Kubernetes API is behind a load balancer with a DNS name.
    """

    name = "aws"
    platform = "aws"
    sized = False
    virtual = False
    has_api_balancer = True
    gives_addresses = True

    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    account_id: Annotated[str, Field(pattern=r"^\d{12}$")] | None = None
    """the only account in which anything is changed, in quotes; any account if left out"""
    profile: str | None = None
    """profile of ~/.aws; `AWS_PROFILE` and the other places that the AWS CLI looks in if left out"""
    vpc_cidr: Network = Field(default="10.0.0.0/16", validate_default=True)
    """network of the VPC, /16 to /24; with `vpc_id` the one that the VPC has"""
    vpc_id: Annotated[str, Field(pattern=r"^vpc-[0-9a-f]{8,17}$")] | None = None
    """an existing VPC; it and its internet gateway are used as they are"""
    azs: Annotated[list[str], Field(min_length=1, max_length=16)]
    """availability zones; machines are spread over them, each has a sixteenth of the VPC"""
    subnets: dict[str, ExistingSubnet] = {}
    """existing subnets by availability zone, used as they are, routes too; needs `vpc_id`"""
    private: bool = False
    """nodes have no public addresses, and reach the internet through NAT gateways; talosmith runs inside the VPC, or
    in a network with a route to it"""
    nat_gateways: Literal["one", "each-az"] = "one"
    """`one` costs less; with `each-az` the others keep working when an availability zone is lost"""
    reach: Literal["public", "private"] | None = None
    """addresses at which talosmith reaches the nodes; the public ones, unless nodes have none"""
    instance_type: Annotated[PerRole, shorthand(_for_both_roles, str | PerRole)] = PerRole.model_construct(
        controlplane="t3.medium", workers="t3.medium"
    )
    """of both roles, or of each; t3.medium if left out. Not t2: Talos does not support it"""
    spot: bool = False
    """workers are spot instances: cheaper, and AWS may take them back at any time"""
    ami: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")] | None = None
    """image of all machines; the one that the makers of Talos publish for version, region and architecture if left
    out"""
    kms_key: Annotated[str, AfterValidator(_kms_key)] | None = None
    """KMS key that encrypts the disks; the account's own for EBS if left out"""
    seed: bool = True
    """machine configs as user data; without it, machines wait for them in maintenance mode"""
    metadata_hop_limit: Annotated[int, Field(ge=1, le=2)] | None = None
    """2 lets pods reach the instance metadata; if left out 2 with `cloud-controller` or `ebs-csi`, else 1"""
    termination_protection: bool = True
    """of control planes; `talosmith destroy` ends it first"""
    hosted_zone: Annotated[str, AfterValidator(_hosted_zone)] | None = None
    """Route 53 zone that gets the record, by name or id; the zone of `domain` if left out"""
    domain: DomainName | None = None
    """the API is served at k8s.<domain>; at the load balancer's own name if left out"""
    balancer: AwsBalancer = AwsBalancer.model_construct()
    """load balancer of the Kubernetes API"""
    admin_cidrs: list[Network] = []
    """networks that may reach the Talos and Kubernetes APIs; empty: only the caller's own address"""
    iam: Annotated[PoliciesPerRole, shorthand(_for_both_roles, list[Policy] | PoliciesPerRole)] = (
        PoliciesPerRole.model_construct()
    )
    """policies of the machines' roles: `cloud-controller`, `ebs-csi`, `ecr-read-only`, or ARNs"""
    tags: Annotated[dict[AwsTag, Annotated[str, Field(max_length=256)]], Field(max_length=40)] = {}
    """tags of all that is created, besides talosmith's own"""

    @property
    def reaches_public(self) -> bool:
        return (self.reach or ("private" if self.private else "public")) == "public"

    @property
    def hop_limit(self) -> int:
        in_pods = {"cloud-controller", "ebs-csi"} & {*self.iam.controlplane, *self.iam.workers}
        return self.metadata_hop_limit or (2 if in_pods else 1)


_ZONE_BITS = 4  # an availability zone has a sixteenth of the VPC
_PUBLIC = 8  # those of public subnets, beside private ones, begin here


def zone_subnet(section: Aws, zone: str, *, public: bool = False) -> IpNetwork:
    """The zone's part of the VPC; `public`: the one for NAT gateway and load balancer, where nodes are in private."""
    vpc = section.vpc_cidr
    index = section.azs.index(zone) + (_PUBLIC if public else 0)
    start = vpc.network_address + index * max(1, vpc.num_addresses >> _ZONE_BITS)
    return ip_network(f"{start}/{min(vpc.prefixlen + _ZONE_BITS, vpc.max_prefixlen)}")
