"""The preflight of an existing VPC: its network, its internet gateway, its subnets, and addresses in use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resource_contract import create_all
from tests.unit.providers.aws.aws_findings import MACHINES, look, the_error, with_options
from tests.unit.providers.aws.aws_harness import REGION, AwsHarness

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


@pytest.fixture
def existing(harness: AwsHarness) -> AwsHarness:
    """In a VPC of others, with an internet gateway and a subnet in each zone."""
    ec2 = harness.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    subnets = {}
    for number, zone in enumerate((f"{REGION}a", f"{REGION}b")):
        cidr = f"10.0.{number * 16}.0/20"
        made = ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=zone)["Subnet"]["SubnetId"]
        subnets[zone] = {"id": made, "cidr": cidr}
    return with_options(harness, vpc_id=vpc, subnets=subnets)


def subnets_of(existing: AwsHarness, zone: str, **changed: str) -> dict[str, Any]:
    subnets: dict[str, Any] = dict(existing.options["subnets"])
    return {**subnets, zone: {**subnets[zone], **changed}}


async def test_an_existing_vpc_where_all_is_well(existing: AwsHarness) -> None:
    found = await look(existing)
    assert {one.level for one in found} == {"ok"}, found
    checks = [one.check for one in found]
    assert f"VPC {existing.section.vpc_id}" in checks and "addresses" in checks
    assert "quota of VPCs" not in checks


async def test_a_vpc_that_does_not_exist(existing: AwsHarness) -> None:
    wrong = with_options(existing, vpc_id="vpc-0123456789abcdef0", subnets={})
    found = await the_error(wrong, "VPC vpc-0123456789abcdef0")
    assert "no VPC vpc-0123456789abcdef0" in found.cause and "`aws.vpc_id`" in found.fix


async def test_a_vpc_of_another_network(existing: AwsHarness) -> None:
    wrong = with_options(existing, vpc_cidr="10.0.0.0/17")
    found = await the_error(wrong, f"VPC {existing.section.vpc_id}")
    assert "10.0.0.0/17" in found.cause and "10.0.0.0/16" in found.evidence
    assert found.fix == "set `aws.vpc_cidr` to 10.0.0.0/16"


async def test_a_vpc_without_an_internet_gateway(existing: AwsHarness) -> None:
    ec2 = existing.client("ec2")
    gateway = ec2.describe_internet_gateways()["InternetGateways"][0]["InternetGatewayId"]
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=existing.section.vpc_id)
    found = await the_error(existing, f"VPC {existing.section.vpc_id}")
    assert "no internet gateway" in found.cause and "load balancer is public" in found.evidence


async def test_new_subnets_that_overlap_existing_ones(existing: AwsHarness) -> None:
    found = [one for one in await look(with_options(existing, subnets={})) if one.level == "error"]
    assert len(found) == 2 and all(one.check == f"VPC {existing.section.vpc_id}" for one in found)
    assert "10.0.0.0/20 of eu-central-1a overlaps" in found[0].cause and "subnet-" in found[0].evidence
    assert "`aws.subnets`" in found[0].fix


async def test_a_subnet_that_the_vpc_does_not_have(existing: AwsHarness) -> None:
    given = subnets_of(existing, f"{REGION}a", id="subnet-0123456789abcdef0")
    found = await the_error(with_options(existing, subnets=given), "subnet subnet-0123456789abcdef0")
    assert f"the VPC {existing.section.vpc_id} has no subnet" in found.cause and f"({REGION}a)" in found.evidence


async def test_a_subnet_in_another_zone(existing: AwsHarness) -> None:
    there = existing.options["subnets"]
    swapped = {f"{REGION}a": there[f"{REGION}b"], f"{REGION}b": there[f"{REGION}a"]}
    found = [one for one in await look(with_options(existing, subnets=swapped)) if one.level == "error"]
    assert [one.cause for one in found] == [f"the subnet is not in {REGION}a", f"the subnet is not in {REGION}b"]
    assert f"{REGION}b" in found[0].evidence and f"`aws.subnets.{REGION}a`" in found[0].fix


async def test_a_subnet_of_another_network(existing: AwsHarness) -> None:
    given = subnets_of(existing, f"{REGION}a", cidr="10.0.0.0/21")
    found = await the_error(with_options(existing, subnets=given), f"subnet {given[f'{REGION}a']['id']}")
    assert "is not 10.0.0.0/21" in found.cause and "10.0.0.0/20" in found.evidence and "10.0.0.0/20" in found.fix


async def test_an_address_that_something_else_has(existing: AwsHarness) -> None:
    subnet = existing.options["subnets"][f"{REGION}a"]["id"]
    made = existing.client("ec2").create_network_interface(
        SubnetId=subnet, PrivateIpAddress=str(MACHINES[1].ip), Description="a database"
    )
    found = await the_error(existing, "addresses")
    assert f"{MACHINES[1].ip} of w-1" in found.cause and "InvalidIPAddress.InUse" in found.cause
    assert made["NetworkInterface"]["NetworkInterfaceId"] in found.evidence and "a database" in found.evidence
    assert "`ip`" in found.fix


async def test_a_foreign_instance_in_our_own_vpc(harness: AwsHarness) -> None:
    await create_all(harness.provider(), members=False)
    intruder = await harness.intrude("w-1", {})
    found = await the_error(harness, "addresses")
    assert "of w-1" in found.cause and intruder in found.evidence
