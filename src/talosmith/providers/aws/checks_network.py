"""The network that machines are put into: an existing VPC with its subnets, and addresses that are free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_network

from talosmith.model.machines import MachineSpec
from talosmith.providers.aws.checks_base import Found, Planned, error, names, ok
from talosmith.providers.aws.failures import Gone
from talosmith.providers.aws.marks import as_tags, of_cluster
from talosmith.providers.base import Finding

_AT_ONCE = 200  # values of a filter
_NO_GATEWAY = "attach an internet gateway to the VPC, and route 0.0.0.0/0 of its public subnets to it"


async def check_vpc(planned: Planned) -> list[Finding]:
    section = planned.settings.section
    if section.vpc_id is None:
        return []
    check = f"VPC {section.vpc_id}"
    try:
        there = await planned.client.listed("ec2", "describe_vpcs", "Vpcs", VpcIds=[section.vpc_id])
    except Gone:
        there = []
    if not there:
        cause = f"the account {planned.identity.account} has no VPC {section.vpc_id} in {section.region}"
        return [error(check, cause, f"account {planned.identity.account}", "correct `aws.vpc_id` or `aws.region`")]
    vpc = there[0]
    found = [*_range(planned, check, vpc), *await _gateway(planned, check)]
    filters = [{"Name": "vpc-id", "Values": [section.vpc_id]}]
    subnets = await planned.client.listed("ec2", "describe_subnets", "Subnets", Filters=filters)
    found += _given(planned, subnets) if section.subnets else _overlaps(planned, check, subnets)
    return found or [ok(check, f"{section.vpc_cidr}, {len(subnets)} subnets exist")]


def _range(planned: Planned, check: str, vpc: Found) -> Iterator[Finding]:
    wanted = str(planned.settings.section.vpc_cidr)
    ranges = [vpc["CidrBlock"], *(one["CidrBlock"] for one in vpc.get("CidrBlockAssociationSet", ()))]
    has = ", ".join(dict.fromkeys(ranges))
    if wanted not in ranges:
        fix = f"set `aws.vpc_cidr` to {ranges[0]}"
        yield error(check, f"the VPC does not have the network {wanted} (`aws.vpc_cidr`)", f"it has {has}", fix)
    if (state := vpc.get("State", "available")) != "available":
        yield error(check, f"the VPC is {state}", has, "wait until the VPC is available")


async def _gateway(planned: Planned, check: str) -> list[Finding]:
    """Only what is public needs one."""
    settings = planned.settings
    if settings.section.private and not settings.balancer_is_public:
        return []
    filters = [{"Name": "attachment.vpc-id", "Values": [settings.section.vpc_id]}]
    there = await planned.client.listed("ec2", "describe_internet_gateways", "InternetGateways", Filters=filters)
    if there:
        return []
    what = "the load balancer is public" if settings.balancer_is_public else "nodes have public addresses"
    return [error(check, "the VPC has no internet gateway", what, _NO_GATEWAY)]


def _given(planned: Planned, subnets: Sequence[Found]) -> Iterator[Finding]:
    section, there = planned.settings.section, {one["SubnetId"]: one for one in subnets}
    for zone, given in section.subnets.items():
        check, key, found = f"subnet {given.id}", f"`aws.subnets.{zone}`", there.get(given.id)
        if found is None:
            listed = ", ".join(f"{one['SubnetId']} ({one['AvailabilityZone']})" for one in subnets) or "no subnet"
            cause = f"the VPC {section.vpc_id} has no subnet {given.id}"
            yield error(check, cause, f"it has {listed}", f"correct {key}, or `aws.vpc_id`")
            continue
        has = f"{found['CidrBlock']} in {found['AvailabilityZone']}"
        if found["AvailabilityZone"] != zone:
            yield error(check, f"the subnet is not in {zone}", has, f"correct {key}")
        if found["CidrBlock"] != str(given.cidr):
            fix = f"set `aws.subnets.{zone}.cidr` to {found['CidrBlock']}"
            yield error(check, f"the subnet is not {given.cidr}", has, fix)
        new = [spec for spec in planned.specs if planned.zone(spec) == zone]
        free = int(found.get("AvailableIpAddressCount", len(new)))
        if free < len(new):
            cause = f"the subnet has {free} free addresses, and {len(new)} machines are to be created in it"
            yield error(check, cause, has, f"set {key} to a larger subnet, or move nodes to another `az`")


def _overlaps(planned: Planned, check: str, subnets: Sequence[Found]) -> Iterator[Finding]:
    """Of the subnets that will be created with those that others have created."""
    settings = planned.settings
    wanted = {settings.subnet_cidr(zone): zone for zone in settings.section.azs}
    if settings.section.private:
        wanted |= {settings.subnet_cidr(zone, public=True): f"{zone}, public" for zone in settings.section.azs}
    foreign = [one for one in subnets if not settings.owner.owns(as_tags(one.get("Tags", ())))]
    for cidr, zone in wanted.items():
        taken = [one for one in foreign if ip_network(one["CidrBlock"]).overlaps(cidr)]
        if taken:
            listed = ", ".join(f"{one['SubnetId']} {one['CidrBlock']}" for one in taken)
            fix = "use existing subnets (`aws.subnets`), or add a network to the VPC and set `aws.vpc_cidr` to it"
            yield error(check, f"the subnet {cidr} of {zone} overlaps an existing one", listed, fix)


async def check_addresses(planned: Planned) -> list[Finding]:
    """Addresses of nodes that something else has, in the VPC that exists by now."""
    vpc = await _existing_vpc(planned)
    if not vpc:
        return []
    specs, found = {str(spec.ip): spec for spec in planned.specs}, []
    for interface in await _interfaces(planned, vpc, [*specs]):
        if planned.settings.owner.owns(as_tags(interface.get("TagSet", ()))):
            continue
        taken = [one["PrivateIpAddress"] for one in interface["PrivateIpAddresses"]]
        found += [_taken(specs[address], interface) for address in taken if address in specs]
    return found or [ok("addresses", f"free in {vpc}: {names(planned.specs)}")]


def _taken(spec: MachineSpec, interface: Found) -> Finding:
    used = interface.get("Attachment", {}).get("InstanceId") or interface.get("Description") or "not attached"
    return error(
        "addresses",
        f"{spec.ip} of {spec.name} is in use by another network interface (InvalidIPAddress.InUse)",
        f"{interface['NetworkInterfaceId']}: {used}",
        f"set another `ip` for {spec.name}, or delete the network interface",
    )


async def _existing_vpc(planned: Planned) -> str:
    if given := planned.settings.section.vpc_id:
        return given
    filters = of_cluster(planned.settings.owner)
    there = await planned.client.listed("ec2", "describe_vpcs", "Vpcs", Filters=filters)
    return next((str(one["VpcId"]) for one in there), "")


async def _interfaces(planned: Planned, vpc: str, addresses: list[str]) -> list[Found]:
    found: list[Found] = []
    for start in range(0, len(addresses), _AT_ONCE):
        filters = [
            {"Name": "vpc-id", "Values": [vpc]},
            {"Name": "addresses.private-ip-address", "Values": addresses[start : start + _AT_ONCE]},
        ]
        found += await planned.client.listed(
            "ec2", "describe_network_interfaces", "NetworkInterfaces", Filters=filters
        )
    return found
