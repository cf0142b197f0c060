"""The resources of a cluster on AWS: what others change is mended, what is Kubernetes' or foreign is left alone."""

from __future__ import annotations

import pytest

from talosmith.model.resources import Resource, ResourceKey
from talosmith.providers.aws.marks import as_list
from talosmith.providers.aws.network import Gateways
from talosmith.providers.aws.rules import read
from talosmith.providers.aws.wanted import ACCESS, BALANCER, GATEWAY, NODES, PUBLIC_ROUTES, VPC, nat_key, subnet
from talosmith.providers.base import Known
from tests.resource_contract import create_all, delete_all
from tests.simulators.aws import Cloud, Server
from tests.unit.providers.aws.aws_harness import (
    BOTH,
    OPEN,
    OWNER,
    PLAIN,
    SSH,
    ZONES,
    AwsHarness,
    difference,
    mend,
    there,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def harness(empty_aws: tuple[Cloud, Server]) -> AwsHarness:
    """Nothing is there yet."""
    return AwsHarness(*empty_aws, nodes=BOTH, options=PLAIN)


# Security groups


async def test_rules_converge_exactly(harness: AwsHarness) -> None:
    await harness.stand(harness.provider())
    before, ec2, group = _rules(harness, "nodes"), harness.client("ec2"), harness.group("nodes")
    (talos,) = [
        one for one in ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["IpPermissions"]
        if one.get("FromPort") == 50000
    ]  # fmt: skip
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[{**SSH, "IpRanges": OPEN}])
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[{**SSH, "Ipv6Ranges": [{"CidrIpv6": "::/0"}]}])
    ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=[talos])
    ec2.revoke_security_group_egress(GroupId=group, IpPermissions=[{"IpProtocol": "-1", "IpRanges": OPEN}])
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=[{**SSH, "IpRanges": OPEN}])
    shown = {one.name: one for one in (await difference(harness, NODES)).settings}
    assert shown["egress"].before == ["tcp 22 to 0.0.0.0/0"] and shown["egress"].after == ["all to 0.0.0.0/0"]
    assert {"tcp 22 from 0.0.0.0/0", "tcp 22 from ::/0"} <= {*map(str, shown["ingress"].before or ())}
    await mend(harness, NODES)
    assert _rules(harness, "nodes") == before


def _rules(harness: AwsHarness, name: str) -> list[set[str]]:
    """All of a group, without their descriptions: AWS gives the first egress rule none."""
    group = harness.client("ec2").describe_security_groups(GroupIds=[harness.group(name)])["SecurityGroups"][0]
    return [{str(rule) for rule, _ in read(group[way], str)} for way in ("IpPermissions", "IpPermissionsEgress")]


async def test_rules_of_kubernetes_are_left_alone(harness: AwsHarness) -> None:
    """By their descriptions, or because their source is a group of a load balancer that Kubernetes has made."""
    known = await harness.stand(harness.provider())
    ec2, group = harness.client("ec2"), harness.group("nodes")
    tags = [{"ResourceType": "security-group", "Tags": as_list({harness.settings().marks.kubernetes_tag: "owned"})}]
    other = ec2.create_security_group(
        GroupName="k8s-elb-a", Description="x", VpcId=known.resources[VPC].id, TagSpecifications=tags
    )["GroupId"]
    described = [{"CidrIp": "0.0.0.0/0", "Description": "kubernetes.io/rule/nlb/client=a"}]
    ports = {"IpProtocol": "tcp", "FromPort": 30080, "ToPort": 30080}
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[{**ports, "IpRanges": described}])
    ec2.authorize_security_group_ingress(
        GroupId=group, IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": other}]}]
    )
    before = harness.cloud.kept()
    assert (await difference(harness, NODES)).change == "none"
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[{**SSH, "IpRanges": OPEN}])
    await mend(harness, NODES)
    assert harness.cloud.kept() == before


async def test_access_to_the_api_follows_public_addresses(harness: AwsHarness) -> None:
    await create_all(harness.provider())
    machine = next(one for one in await harness.provider().find() if one.name == "w-1")
    ec2 = harness.client("ec2")
    ec2.stop_instances(InstanceIds=[machine.id])
    ec2.start_instances(InstanceIds=[machine.id])
    now = next(one for one in await harness.provider().find() if one.name == "w-1").endpoint
    assert now != machine.endpoint
    (changed,) = (await difference(harness, ACCESS)).settings
    assert "w-1 (another address)" in (changed.before or ())  # type: ignore[operator]
    await mend(harness, ACCESS)
    assert f"{now}/32" in _allowed(harness) and f"{machine.endpoint}/32" not in _allowed(harness)
    provider = harness.provider()
    await provider.power(machine, on=False)
    await provider.power(machine, on=True)
    assert (await difference(harness, ACCESS)).change == "none", "switched by talosmith, it is renewed at once"


def _allowed(harness: AwsHarness) -> set[str]:
    """Networks that reach the load balancer."""
    group = harness.client("ec2").describe_security_groups(GroupIds=[harness.group("balancer")])["SecurityGroups"][0]
    return {network["CidrIp"] for one in group["IpPermissions"] for network in one["IpRanges"]}


# What killed runs and other inventories left


@pytest.mark.parametrize("smaller", [True, False])
async def test_a_second_vpc_is_found_under_a_name_of_its_own(harness: AwsHarness, smaller: bool) -> None:
    """The one in use is the cluster's, whichever of the two ids is the smaller."""
    known = await harness.stand(harness.provider())
    before, ec2 = harness.cloud.kept(), harness.client("ec2")
    twin = ""
    while not twin or (twin < known.resources[VPC].id) != smaller:
        if twin:
            ec2.delete_vpc(VpcId=twin)
        tags = harness.settings().marks.specification("vpc", VPC)
        twin = ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=tags)["Vpc"]["VpcId"]
    provider = harness.provider()
    found = {one.key: one for one in await provider.find_resources()}
    other = found[ResourceKey("vpc", f"main-{twin}")]
    assert other.id == twin and found[VPC].id == known.resources[VPC].id and not other.needs
    await provider.delete_resource(other)
    assert harness.cloud.kept() == before


async def test_nat_gateways_are_found_after_private_was_removed(harness: AwsHarness) -> None:
    private = harness.given(private=True)
    await private.stand(private.provider())
    found = await there(harness)
    assert found[nat_key(ZONES[0])].id.startswith("nat-") and subnet(ZONES[0], public=True) in found
    await delete_all(harness.provider(), OWNER)
    assert not await there(private)


async def test_the_address_of_a_nat_gateway_that_was_never_made(harness: AwsHarness) -> None:
    private = harness.given(private=True)
    tags = private.settings().marks.specification("elastic-ip", nat_key(ZONES[0]))
    harness.client("ec2").allocate_address(Domain="vpc", TagSpecifications=tags)
    provider = private.provider()
    (left,) = await provider.find_resources()
    assert left.key == nat_key(ZONES[0]) and not left.id
    await provider.delete_resource(left)
    assert not harness.client("ec2").describe_addresses()["Addresses"]


async def test_an_internet_gateway_that_is_not_attached(harness: AwsHarness) -> None:
    known = await harness.stand(harness.provider())
    before, ec2, gateway = harness.cloud.kept(), harness.client("ec2"), known.resources[GATEWAY].id
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=known.resources[VPC].id)
    await mend(harness, GATEWAY)
    ec2.delete_route(RouteTableId=known.resources[PUBLIC_ROUTES].id, DestinationCidrBlock="0.0.0.0/0")
    await mend(harness, PUBLIC_ROUTES)
    assert harness.cloud.kept() == before


async def test_of_two_gateways_that_rivals_create_one_is_kept(harness: AwsHarness) -> None:
    """The other run attaches its own between our look and our call."""
    provider = harness.provider()
    specs = {one.key: one for one in provider.resources()}
    vpc = await provider.create_resource(specs[VPC], Known(resources={}, machines={}))
    ec2, rivals = harness.client("ec2"), []
    tags = harness.settings().marks.specification("internet-gateway", GATEWAY)

    async def create_rival() -> list[Resource]:
        made = ec2.create_internet_gateway(TagSpecifications=tags)["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=made, VpcId=vpc.id)
        rivals.append(made)
        return []

    gateways = Gateways(provider.client, provider.settings)
    gateways.find = create_rival  # type: ignore[method-assign]
    kept = await gateways.create(specs[GATEWAY], Known(resources={VPC: vpc}, machines={}))
    left = ec2.describe_internet_gateways(Filters=[{"Name": "tag-key", "Values": ["talosmith-id"]}])
    assert [kept.id] == rivals == [one["InternetGatewayId"] for one in left["InternetGateways"]]


# The load balancer


async def test_a_control_plane_leaves_the_load_balancer_before_it_is_terminated(harness: AwsHarness) -> None:
    provider = harness.provider()
    await create_all(provider)
    harness.cloud.calls.clear()
    (leader,) = [one for one in await provider.find() if one.name == "cp-1"]
    await provider.destroy(leader)
    changes = harness.changes()
    assert changes.index("DeregisterTargets") < changes.index("TerminateInstances")
    assert changes.index("RevokeSecurityGroupIngress") < changes.index("TerminateInstances")
    assert f"{leader.endpoint}/32" not in _allowed(harness)


async def test_another_zone_is_added_to_the_load_balancer_in_place(harness: AwsHarness) -> None:
    await create_all(harness.provider())
    more = harness.given(azs=[*ZONES, "eu-central-1c"])
    provider, found = more.provider(), await there(more)
    spec = next(one for one in provider.resources() if one.key == subnet("eu-central-1c"))
    await provider.create_resource(spec, Known(resources=found, machines={}))
    (changed,) = (await difference(more, BALANCER)).settings
    assert (changed.name, changed.before) == ("zones", [*ZONES]) and changed.after == [*ZONES, "eu-central-1c"]
    await mend(more, BALANCER)
    assert "SetSubnets" in harness.changes() and harness.changes().count("CreateLoadBalancer") == 1
