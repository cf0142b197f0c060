"""The IAM policy in force on the simulated AWS: enough for a cluster's lifecycle, not for foreign resources."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from talosmith.model.machines import ID_TAG, MachineSpec
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec
from talosmith.providers.aws import actions
from talosmith.providers.aws.failures import Denied
from talosmith.providers.aws.permissions import needed_actions, policy
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.base import Known
from tests.machine_specs import with_settings
from tests.resource_contract import create_all, delete_all
from tests.simulators.aws import Cloud, Server
from tests.simulators.aws.policy import checks
from tests.unit.providers.aws.aws_harness import BOTH, OWNER, ZONES, AwsHarness
from tests.unit.providers.aws.aws_policies import for_simulator

pytestmark = pytest.mark.slow


@pytest.fixture
def cloud(empty_aws: tuple[Cloud, Server]) -> Cloud:
    return empty_aws[0]


def without(document: Mapping[str, Any], action: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(document))
    for one in found["Statement"]:
        names = [one["Action"]] if isinstance(one["Action"], str) else one["Action"]
        one["Action"] = [name for name in names if name != action]
    found["Statement"] = [one for one in found["Statement"] if one["Action"]]
    return found


def asked_for(cloud: Cloud) -> set[str]:
    """Actions that had to be allowed for the calls so far."""
    return {check.action for call in cloud.calls for check in checks(call)}


async def life(harness: AwsHarness, *, checked: bool = True) -> None:
    provider = harness.provider()
    if checked:
        await provider.preflight([*harness.nodes.values()])
    await create_all(provider)
    await provider.leftovers(await provider.find_resources())
    await delete_all(harness.provider(), harness.owner)
    await provider.close()


@pytest.mark.parametrize("options", [{}, {"private": True}, {"iam": []}])
@pytest.mark.real  # for its length alone
async def test_the_policy_is_enough_for_a_whole_life(
    cloud: Cloud, aws: tuple[Cloud, Server], options: dict[str, Any]
) -> None:
    harness = AwsHarness(cloud, aws[1], nodes=BOTH, options=options)
    empty = await harness.resources_there()
    cloud.allow_only(for_simulator(policy(harness.settings())))
    await life(harness)
    assert not [call for call in cloud.calls if call.error in ("UnauthorizedOperation", "AccessDenied")]
    assert asked_for(cloud) - actions.WITHOUT_POLICY <= needed_actions(harness.settings()) | actions.OPTIONAL
    assert await harness.resources_there() == empty


@pytest.mark.real  # for its length alone
async def test_the_policy_is_enough_in_an_existing_network(
    cloud: Cloud, aws: tuple[Cloud, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = AwsHarness(cloud, aws[1], nodes=BOTH)
    ec2 = harness.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    in_vpc = AwsHarness(cloud, aws[1], nodes=BOTH, options={"vpc_id": vpc})
    before = await in_vpc.resources_there()
    cloud.calls.clear()
    cloud.allow_only(for_simulator(policy(in_vpc.settings())))
    provider = in_vpc.provider()
    await provider.preflight([*BOTH.values()])
    there = {one.key: one for one in await provider.find_resources()}
    create = provider.create_resource

    async def create_missing(spec: ResourceSpec, known: Known) -> Resource:
        return there.get(spec.key) or await create(spec, known)

    monkeypatch.setattr(provider, "create_resource", create_missing)
    await create_all(provider)
    await delete_all(in_vpc.provider(), in_vpc.owner)
    assert await in_vpc.resources_there() == before
    assert not {"ec2:CreateVpc", "ec2:DeleteVpc", "ec2:ModifyVpcAttribute"} & asked_for(cloud)


# What only repairs of changes by hand need, and what AWS itself asks for, which the simulator does not.
RARE = {
    "ec2:ReplaceIamInstanceProfileAssociation", "ec2:ReplaceRoute", "elasticloadbalancing:ModifyListener",
    "iam:CreateServiceLinkedRole", "iam:DeleteRolePolicy", "ec2:DescribeAccountAttributes",
}  # fmt: skip


@pytest.mark.real  # for its length alone
async def test_the_policy_is_enough_for_all_changes_and_has_nothing_that_none_needs(
    cloud: Cloud, aws: tuple[Cloud, Server]
) -> None:
    """Together the changes need each action but the rare ones."""
    harness = AwsHarness(cloud, aws[1], nodes=BOTH, options={"private": True})
    cloud.allow_only(for_simulator(policy(harness.settings())))
    await harness.provider().preflight([*BOTH.values()])
    known = await create_all(harness.provider())
    await harness.provider().create(BOTH["w-1"])
    await _drift(harness, cloud)
    more = {"instance_type": "t3.large", "tags": {"team": "a"}, "metadata_hop_limit": 1}
    changed = AwsHarness(cloud, aws[1], nodes=_larger(), options={"private": True, **more})
    for role in ("none", "again"):
        workers = [] if role == "none" else ["ecr-read-only"]
        iam = {"controlplane": ["ecr-read-only", "cloud-controller"], "workers": workers}
        changed = AwsHarness(cloud, aws[1], nodes=_larger(), options={**changed.options, "iam": iam})
        provider = changed.provider()
        for machine in await provider.find():
            await provider.resize(machine, changed.nodes[machine.name])
    provider = changed.provider()
    machines = {one.name: one for one in await provider.find()}
    found = {one.key: one for one in await provider.find_resources()}
    for spec in provider.resources():
        if spec.key in found and provider.difference(found[spec.key], spec).change == "update":
            await provider.update_resource(found[spec.key], spec, Known(resources=known, machines=machines))
    found = {one.key: one for one in await provider.find_resources()}
    for key, change in ((("target-group", "kubernetes"), {}), (("load-balancer", "api"), machines)):
        spec = next(one for one in provider.resources() if one.key == ResourceKey(*key))
        await provider.update_resource(found[spec.key], spec, Known(resources=known, machines=change))
    for left in (await provider.leftovers([*found.values()])).own:
        await provider.delete_resource(left)
    await delete_all(changed.provider(), changed.owner)
    public = AwsHarness(cloud, aws[1], nodes=BOTH)
    cloud.allow_only(for_simulator(policy(public.settings())))
    await life(public)
    listed = needed_actions(harness.settings()) | needed_actions(public.settings())
    zone = {"route53:GetHostedZone"}  # by id, or of a name that does not resolve
    assert listed - asked_for(cloud) - zone <= RARE
    denied = [call for call in cloud.calls if call.error in ("UnauthorizedOperation", "AccessDenied")]
    assert not denied


def _larger() -> dict[str, MachineSpec]:
    return {name: with_settings(spec, disks_mib=(40960, 10240, 10240)) for name, spec in BOTH.items()}


async def _drift(harness: AwsHarness, cloud: Cloud) -> None:
    """By hand, without the policy: rules of a security group, a version of a policy; and what Kubernetes makes."""
    allowed, before = cloud.policy, len(cloud.calls)
    cloud.allow_only(None)
    ec2, iam, group = harness.client("ec2"), harness.client("iam"), harness.group("nodes")
    everything = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    ssh = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    ec2.revoke_security_group_egress(GroupId=group, IpPermissions=[everything])
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=[ssh])
    own = iam.list_policies(Scope="Local", PathPrefix=f"/talosmith/{OWNER.id}/")["Policies"][0]["Arn"]
    allow = {"Effect": "Allow", "Action": "ec2:DescribeTags", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    iam.create_policy_version(PolicyArn=own, PolicyDocument=document, SetAsDefault=True)
    tags = [{"Key": harness.settings().marks.kubernetes_tag, "Value": "owned"}]
    made = [{"ResourceType": "volume", "Tags": tags}]
    ec2.create_volume(AvailabilityZone=ZONES[0], Size=1, TagSpecifications=made)
    vpc = ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["VpcId"]
    kind = [{"ResourceType": "security-group", "Tags": tags}]
    other = ec2.create_security_group(GroupName="k8s-elb-a", Description="x", VpcId=vpc, TagSpecifications=kind)
    ec2.authorize_security_group_ingress(GroupId=other["GroupId"], IpPermissions=[ssh])
    elb = harness.client("elbv2")
    subnets = [
        one["SubnetId"] for one in ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Subnets"]
    ]
    elb.create_load_balancer(Name="of-kubernetes", Type="network", Subnets=subnets[:1], Tags=tags)
    elb.create_target_group(Name="of-kubernetes", Protocol="TCP", Port=80, VpcId=vpc, Tags=tags)
    del cloud.calls[before:]
    cloud.allow_only(allowed)


@pytest.mark.parametrize(
    "action",
    [
        "ec2:CreateTags", "ec2:RunInstances", "ec2:AuthorizeSecurityGroupIngress", "iam:PassRole",
        "elasticloadbalancing:AddTags", "elasticloadbalancing:RegisterTargets", "iam:TagInstanceProfile",
        "iam:AttachRolePolicy", "route53:ChangeResourceRecordSets", "ec2:TerminateInstances", "ec2:DeleteVpc",
    ],
)  # fmt: skip
@pytest.mark.real  # for its length alone
async def test_without_an_action_a_life_fails(cloud: Cloud, aws: tuple[Cloud, Server], action: str) -> None:
    """A sample; that each is asked for is proven above."""
    harness = AwsHarness(cloud, aws[1], nodes=BOTH)
    cloud.allow_only(without(for_simulator(policy(harness.settings())), action))
    with pytest.raises(Denied) as refused:
        await life(harness, checked=False)
    assert action in str(refused.value)


@pytest.mark.real  # for its length alone
async def test_what_other_clusters_have_is_out_of_reach(cloud: Cloud, aws: tuple[Cloud, Server]) -> None:
    theirs = AwsHarness(cloud, aws[1], nodes=BOTH)
    await create_all(theirs.provider())
    ids = [one.id for one in await theirs.provider().find()]
    ec2, vpcs = theirs.client("ec2"), theirs.client("ec2").describe_vpcs()["Vpcs"]
    own = AwsSettings(section=theirs.section, owner=type(OWNER)("mine", "f" * 16), specs=BOTH)
    before = cloud.kept()
    cloud.allow_only(for_simulator(policy(own)))
    attempts: list[Callable[[], object]] = [
        lambda: ec2.terminate_instances(InstanceIds=ids),
        lambda: ec2.delete_vpc(VpcId=vpcs[0]["VpcId"]),
        lambda: ec2.create_tags(Resources=ids, Tags=[{"Key": ID_TAG, "Value": "f" * 16}]),
        lambda: ec2.create_vpc(CidrBlock="10.9.0.0/16"),
        lambda: theirs.client("elbv2").delete_load_balancer(
            LoadBalancerArn=theirs.client("elbv2").describe_load_balancers()["LoadBalancers"][0]["LoadBalancerArn"]
        ),
        lambda: theirs.client("iam").delete_instance_profile(InstanceProfileName=f"talosmith-{OWNER.id}-workers"),
    ]
    for attempt in attempts:
        with pytest.raises(Exception, match="not authorized"):
            attempt()
    assert cloud.kept() == before
