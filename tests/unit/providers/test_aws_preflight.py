"""The look at AWS before anything is created there: each cause of a later failure is named once, with its fix.

No finding may cost a change: after each preflight the simulated AWS is as it was, and only calls that read were sent.
"""

from __future__ import annotations

import builtins
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from talosmith.model.machines import MachineSpec
from talosmith.model.versions import Version
from talosmith.providers.aws import checks_identity, checks_record, checks_types, client, preflight
from talosmith.providers.aws.permissions import needed_actions, policy
from talosmith.providers.base import Finding
from tests.loopback import unused_port
from tests.resource_contract import create_all
from tests.simulators.aws import Cloud, Server, images
from tests.unit.providers.aws_harness import RECORD, REGION, AwsHarness, spec_of

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone

MACHINES = (spec_of("cp-1", "controlplane"), spec_of("w-1"))
NODES = {spec.name: spec for spec in MACHINES}
LIMIT = 10.0  # seconds
ACCOUNT = "123456789012"
CALLER = f"arn:aws:iam::{ACCOUNT}:user/talosmith"


def resolving(*names: str) -> Callable[[str], Awaitable[bool]]:
    async def resolves(name: str) -> bool:
        return name in names

    return resolves


@pytest.fixture
def harness(empty_aws: tuple[Cloud, Server], monkeypatch: pytest.MonkeyPatch) -> AwsHarness:
    cloud, server = empty_aws
    monkeypatch.setattr(checks_record, "resolves", resolving(RECORD))
    return AwsHarness(cloud, server, nodes=NODES)


def with_options(harness: AwsHarness, **options: Any) -> AwsHarness:
    record = RECORD if options.get("domain", "x") else ""
    nodes = options.pop("nodes", harness.nodes)
    return AwsHarness(
        harness.cloud, harness.server, nodes=nodes, options={**harness.options, **options}, record=record
    )


async def look(harness: AwsHarness, specs: Sequence[MachineSpec] = MACHINES) -> list[Finding]:
    harness.cloud.calls.clear()
    before, began = harness.cloud.kept(), time.monotonic()
    provider = harness.provider()
    found = await provider.preflight(specs)
    await provider.close()
    assert time.monotonic() - began < LIMIT
    assert harness.cloud.kept() == before and not harness.changes()
    for one in found:
        assert one.check and (one.evidence if one.level == "ok" else one.cause and one.evidence and one.fix), one
    return found


async def the_only(harness: AwsHarness, level: str, check: str, specs: Sequence[MachineSpec] = MACHINES) -> Finding:
    """All else is well."""
    found = [one for one in await look(harness, specs) if one.level != "ok"]
    assert [(one.level, one.check) for one in found] == [(level, check)], found
    return found[0]


async def the_error(harness: AwsHarness, check: str, specs: Sequence[MachineSpec] = MACHINES) -> Finding:
    return await the_only(harness, "error", check, specs)


# All is well


async def test_an_account_where_all_is_well(harness: AwsHarness) -> None:
    """In the order in which someone looks for the cause: what comes first is the cause of what comes after."""
    found = await look(harness)
    assert [(one.level, one.check) for one in found] == [
        ("ok", "AWS credentials"),
        ("ok", "permissions"),
        ("ok", "availability zones"),
        ("ok", "instance types"),
        ("ok", "image talos-v1.13.9-eu-central-1-amd64"),
        ("ok", "quota of on-demand vCPUs"),
        ("ok", "quota of Network Load Balancers"),
        ("ok", "quota of VPCs"),
        ("ok", "quota of internet gateways"),
        ("ok", "DNS record k8s.sandbox.example.org"),
    ]
    shown = {one.check: one.evidence for one in found}
    assert shown["AWS credentials"] == f"{CALLER}, account {ACCOUNT}, region {REGION}"
    assert "0 of 64 vCPUs in use, 4 more wanted" in shown["quota of on-demand vCPUs"]
    assert "free in example.org" in shown["DNS record k8s.sandbox.example.org"]


async def test_without_machines_to_create_only_the_caller_is_looked_at(harness: AwsHarness) -> None:
    harness.cloud.deny("ec2:*", "iam:*")
    assert [one.check for one in await look(harness, ())] == ["AWS credentials"]
    assert [call.action for call in harness.cloud.calls] == ["GetCallerIdentity"]


async def test_what_exists_is_not_in_the_way_of_itself(harness: AwsHarness) -> None:
    """Neither its addresses nor its quotas nor its record; a machine more is launched as the run would (DryRun)."""
    await create_all(harness.provider())
    for key in (("vpc", "L-F678F1CE"), ("vpc", "L-A4707A72"), ("elasticloadbalancing", "L-69A177A2")):
        harness.cloud.quotas[key] = 1
    more = with_options(harness, nodes={**NODES, "w-2": spec_of("w-2")})
    for specs in ([spec_of("w-2")], [NODES["w-1"]]):
        found = await look(more, specs)
        assert {one.level for one in found} == {"ok"}, found
    assert "this cluster has it" in {one.check: one.evidence for one in found}[f"DNS record {RECORD}"]
    assert "addresses" in [one.check for one in found]
    tried = {call.action for call in harness.cloud.calls if call.dry_run}
    assert tried == {"CreateVpc", "CreateInternetGateway", "CreateVolume", "RunInstances"}


# The caller


async def test_no_boto3(harness: AwsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "boto3":
            raise ImportError("No module named 'boto3'")
        return plain(name, *args, **kwargs)

    client.boto3.cache_clear()
    monkeypatch.setattr(builtins, "__import__", refuse)
    try:
        found = await the_error(harness, "boto3")
    finally:
        monkeypatch.undo()
    assert "No module named 'boto3'" in found.cause and found.fix.splitlines()[1] == "pip install 'talosmith[aws]'"


async def test_no_credentials(harness: AwsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    found = await the_error(harness, "AWS credentials")
    assert "Unable to locate credentials" in found.cause and "~/.aws" in found.evidence
    assert "aws sso login" in found.fix and "AWS_PROFILE" in found.fix


async def test_a_profile_that_does_not_exist(harness: AwsHarness) -> None:
    found = await the_error(with_options(harness, profile="prod"), "AWS credentials")
    assert "The config profile (prod) could not be found" in found.cause and "aws.profile" in found.fix
    assert found.evidence == "`aws.profile: prod`"


async def test_credentials_that_have_expired(harness: AwsHarness) -> None:
    harness.cloud.expire_credentials()
    found = await the_error(harness, "AWS credentials")
    assert "expired" in found.cause and "ExpiredToken" in found.cause and "aws sso login" in found.fix
    assert found.evidence == "credentials from AWS_ACCESS_KEY_ID"


async def test_credentials_that_aws_does_not_know(harness: AwsHarness) -> None:
    harness.cloud.refused_keys.add(harness.cloud.key_of(ACCOUNT))
    found = await the_error(harness, "AWS credentials")
    assert "InvalidClientTokenId" in found.cause and "aws sts get-caller-identity" in found.fix


async def test_another_account(harness: AwsHarness) -> None:
    found = await the_error(with_options(harness, account_id="999999999999"), "AWS account")
    assert ACCOUNT in found.cause and "999999999999" in found.cause and "`aws.account_id`" in found.cause
    assert CALLER in found.evidence and "AWS_PROFILE" in found.fix
    assert [call.action for call in harness.cloud.calls] == ["GetCallerIdentity"], "looked into another's account"
    assert {one.level for one in await look(with_options(harness, account_id=ACCOUNT))} == {"ok"}


@pytest.mark.parametrize(("seconds", "direction"), [(280, "behind"), (-280, "ahead of")])
async def test_a_clock_that_is_nearly_wrong(harness: AwsHarness, seconds: int, direction: str) -> None:
    harness.cloud.skew(seconds)
    found = await the_only(harness, "warning", "clock")
    assert direction in found.cause and "280 s" in found.cause.replace("279", "280").replace("281", "280")
    assert "RequestTimeTooSkewed" in found.evidence and found.fix.splitlines()[1] == "sudo timedatectl set-ntp true"


async def test_a_clock_that_is_wrong(harness: AwsHarness) -> None:
    harness.cloud.skew(900)
    found = await the_error(harness, "AWS credentials")
    assert "SignatureDoesNotMatch" in found.cause and "clock" in found.fix


async def test_an_api_that_cannot_be_reached(harness: AwsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    with unused_port() as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        found = await the_error(harness, "AWS API")
    assert f"http://127.0.0.1:{port}" in found.cause and REGION in found.evidence
    assert "`aws.region`" in found.fix and "HTTPS_PROXY" in found.fix


# Permissions


async def test_actions_that_are_denied_are_listed_with_a_policy(harness: AwsHarness) -> None:
    harness.cloud.deny("elasticloadbalancing:CreateLoadBalancer", "iam:PassRole", "ec2:ModifyVpcAttribute")
    found = await the_error(harness, "permissions")
    assert found.evidence == "ec2: ModifyVpcAttribute; elasticloadbalancing: CreateLoadBalancer; iam: PassRole"
    assert f"{CALLER} lacks 3 of the actions" in found.cause
    _, render, create, attach = found.fix.splitlines()
    assert render == "talosmith render aws-policy > talosmith-tested.json"
    assert "aws iam create-policy --policy-name talosmith-tested" in create and "create-policy-version" in create
    assert attach == (
        "aws iam attach-user-policy --user-name talosmith "
        f"--policy-arn arn:aws:iam::{ACCOUNT}:policy/talosmith-tested"
    )


async def test_what_ec2_itself_denies_counts(harness: AwsHarness) -> None:
    """Also if IAM's simulation cannot be asked; what was not checked is no error."""
    harness.cloud.deny("ec2:CreateVpc", "iam:SimulatePrincipalPolicy")
    found = {one.level: one for one in await look(harness) if one.level != "ok"}
    assert found.keys() == {"error", "note"}
    assert found["error"].evidence == "ec2: CreateVpc" and found["error"].check == "permissions"
    note = found["note"]
    total = len(needed_actions(harness.settings()))
    assert f" of {total} actions are not checked: iam:SimulatePrincipalPolicy is denied (AccessDenied)" in note.cause
    assert "iam: AddRoleToInstanceProfile" in note.evidence and " more" in note.evidence
    assert "Describe" not in note.evidence and "render aws-policy" in note.fix


async def test_the_printed_policy_is_enough(harness: AwsHarness) -> None:
    harness.cloud.allow_only(policy(harness.settings()))
    assert {one.level for one in await look(harness)} == {"ok"}


async def test_the_policy_of_another_cluster_is_not_enough(harness: AwsHarness) -> None:
    other = AwsHarness(harness.cloud, harness.server, owner=type(harness.owner)("other", "f" * 16), nodes=NODES)
    harness.cloud.allow_only(policy(other.settings()))
    found = await the_error(harness, "permissions")
    assert "RunInstances" in found.evidence and "CreateLoadBalancer" in found.evidence
    assert "DescribeInstances" not in found.evidence


async def test_what_only_checks_need_is_no_error(harness: AwsHarness) -> None:
    harness.cloud.deny("servicequotas:*", "ec2:DescribeInstanceTypes")
    found = [one for one in await look(harness) if one.level != "ok"]
    assert {one.level for one in found} == {"note"}
    by_check = {one.check: one for one in found}
    assert by_check["permissions"].evidence == "ec2: DescribeInstanceTypes; servicequotas: GetServiceQuota"
    assert "not checked: ec2:DescribeInstanceTypes is denied" in by_check["instance types"].cause
    assert "servicequotas:GetServiceQuota is denied" in by_check["quotas"].cause


async def test_an_assumed_role_is_simulated_as_the_role(harness: AwsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    roles = harness.client("iam")
    trust = '{"Version": "2012-10-17", "Statement": []}'
    role = roles.create_role(RoleName="deploy", Path="/ci/", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    given = harness.client("sts").assume_role(RoleArn=role, RoleSessionName="run")["Credentials"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", given["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", given["SecretAccessKey"])
    monkeypatch.setenv("AWS_SESSION_TOKEN", given["SessionToken"])
    harness.cloud.deny("ec2:RunInstances")
    found = await the_error(harness, "permissions")
    asked = {
        call.params["PolicySourceArn"] for call in harness.cloud.calls if call.action == "SimulatePrincipalPolicy"
    }
    assert asked == {role}
    assert "attach-role-policy --role-name deploy" in found.fix


# Zones, instance types, images


async def test_a_zone_that_does_not_exist(harness: AwsHarness) -> None:
    found = await the_error(with_options(harness, azs=["eu-central-1a", "eu-central-1x"]), "availability zones")
    assert "eu-central-1x" in found.cause and "eu-central-1b" in found.evidence and "`aws.azs`" in found.fix


async def test_a_region_that_is_not_enabled(harness: AwsHarness) -> None:
    harness.cloud.refuse("ec2:DescribeAvailabilityZones", "OptInRequired", "You are not subscribed to this service")
    found = await the_error(harness, "region")
    assert REGION in found.cause and "OptInRequired" in found.evidence
    assert found.fix.splitlines()[1] == f"aws account enable-region --region-name {REGION}"


async def test_an_instance_type_that_does_not_exist(harness: AwsHarness) -> None:
    kinds = {"controlplane": "t3.medium", "workers": "t9.huge"}
    found = await the_error(with_options(harness, instance_type=kinds), "instance type t9.huge")
    assert "no instance type t9.huge" in found.cause and found.evidence == "for w-1"
    assert "`aws.instance_type`" in found.fix


async def test_an_instance_type_that_the_zone_does_not_offer(
    harness: AwsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moto.ec2.models import instance_types

    offered = instance_types.INSTANCE_TYPE_OFFERINGS["availability-zone"]
    elsewhere = [
        one for one in offered[REGION] if (one["InstanceType"], one["Location"]) != ("t3.medium", f"{REGION}a")
    ]
    monkeypatch.setitem(offered, REGION, elsewhere)
    found = await the_error(harness, "instance type t3.medium")
    assert f"{REGION}a does not offer t3.medium" in found.cause and f"{REGION}b" in found.evidence
    assert "`az`" in found.fix


async def test_an_instance_type_of_another_architecture(harness: AwsHarness) -> None:
    kinds = {"controlplane": "t3.medium", "workers": "t4g.medium"}
    found = await the_error(with_options(harness, instance_type=kinds), "instance type t4g.medium")
    assert found.cause == "t4g.medium is arm64, and w-1 is amd64" and "`arch: arm64`" in found.fix


async def test_t2_instances(harness: AwsHarness) -> None:
    kinds = {"controlplane": "t3.medium", "workers": "t2.medium"}
    found = await the_only(with_options(harness, instance_type=kinds), "warning", "instance type t2.medium")
    assert "t2" in found.cause and "t3" in found.fix


async def test_an_instance_type_that_is_too_small(harness: AwsHarness) -> None:
    found = await the_only(with_options(harness, instance_type="t3.micro"), "warning", "instance type t3.micro")
    assert "1024 MiB" in found.cause and "2048" in found.cause and found.evidence == "for cp-1"


async def test_a_version_without_an_image(harness: AwsHarness) -> None:
    specs = [replace(spec, talos_version=Version.parse("v1.99.0")) for spec in MACHINES]
    found = await the_error(harness, "image talos-v1.99.0-eu-central-1-amd64", specs)
    assert "Sidero Labs has published no such image" in found.cause and "540036508848" in found.evidence
    assert "`talos_version`" in found.fix and "`aws.ami`" in found.fix


async def test_a_given_image_that_does_not_exist(harness: AwsHarness) -> None:
    found = await the_error(with_options(harness, ami="ami-0123456789abcdef0"), "image ami-0123456789abcdef0")
    assert "does not exist in eu-central-1" in found.cause and ACCOUNT in found.evidence


async def test_a_given_image_of_another_architecture(harness: AwsHarness) -> None:
    given = images.image_id("v1.13.9", REGION, "arm64")
    found = await the_error(with_options(harness, ami=given), f"image {given}")
    assert found.cause == "the image is arm64, and nodes are amd64" and given in found.evidence


def register(harness: AwsHarness, root: str) -> str:
    """An image of the caller's own; moto would choose its root device."""
    made = str(harness.client("ec2").register_image(Name="mine", Architecture="x86_64")["ImageId"])
    for backend in harness.cloud.ec2_backends():
        if made in backend.amis:
            backend.amis[made].root_device_name = root
    return made


async def test_a_given_image_of_other_makers(harness: AwsHarness) -> None:
    own = register(harness, "/dev/xvda")
    found = await the_only(with_options(harness, ami=own), "note", f"image {own}")
    assert ACCOUNT in found.cause and "540036508848" in found.cause and "`aws.ami`" in found.fix


async def test_a_given_image_with_another_root_device(harness: AwsHarness) -> None:
    """A disk of the inventory's size would be added to it, instead of being the one that Talos is on."""
    own = register(harness, "/dev/sda1")
    found = await the_error(with_options(harness, ami=own), f"image {own}")
    assert "/dev/sda1" in found.cause and "/dev/xvda" in found.fix


def test_an_image_that_is_larger_than_the_disk() -> None:
    """The simulated AWS does not tell the sizes of an image's disks."""
    disk = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 30}}
    image = {"ImageId": "ami-1", "Architecture": "x86_64", "BlockDeviceMappings": [disk]}
    (found,) = checks_types._image("image ami-1", image, "amd64", [20480])
    assert found.level == "error" and "30 GiB" in found.cause and found.fix == "set `disk` to 30G or more"
    (found,) = checks_types._image("image ami-1", {**image, "State": "pending"}, "amd64", [40960])
    assert found.level == "error" and found.cause == "the image is pending"


# Quotas


@pytest.mark.parametrize(
    ("key", "limit", "check", "options"),
    [
        (("ec2", "L-1216C47A"), 3, "quota of on-demand vCPUs", {}),
        (("ec2", "L-34B43A08"), 1, "quota of spot vCPUs", {"spot": True}),
        (("vpc", "L-F678F1CE"), 1, "quota of VPCs", {}),
        (("vpc", "L-A4707A72"), 0, "quota of internet gateways", {}),
        (("ec2", "L-0263D0A3"), 1, "quota of Elastic IPs", {"private": True, "nat_gateways": "each-az"}),
        (("elasticloadbalancing", "L-69A177A2"), 0, "quota of Network Load Balancers", {}),
    ],
)
async def test_a_quota_that_is_too_small(
    harness: AwsHarness, key: tuple[str, str], limit: int, check: str, options: dict[str, Any]
) -> None:
    harness.cloud.quotas[key] = float(limit)
    found = await the_error(with_options(harness, **options), check)
    assert (
        f"a quota of {limit} " in found.cause
        and f" of {limit} " in found.evidence
        and "more wanted" in found.evidence
    )
    command = found.fix.splitlines()[1]
    assert command.startswith("aws service-quotas request-service-quota-increase") and key[1] in command


async def test_what_others_run_counts(harness: AwsHarness) -> None:
    ec2 = harness.client("ec2")
    image = images.image_id("v1.13.9", REGION)
    ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, InstanceType="m5.4xlarge")
    harness.cloud.quotas["ec2", "L-1216C47A"] = 19.0
    found = await the_error(harness, "quota of on-demand vCPUs")
    assert found.evidence == "16 of 19 vCPUs in use, 4 more wanted"


async def test_quotas_that_may_not_be_read(harness: AwsHarness) -> None:
    harness.cloud.deny("servicequotas:GetServiceQuota")
    found = [one for one in await look(harness) if one.check.startswith("quota")]
    assert [(one.level, one.check) for one in found] == [("note", "quotas")]
    assert "not checked" in found[0].cause and "render aws-policy" in found[0].fix


# An existing VPC


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


# The record


async def test_a_zone_that_route_53_does_not_have(harness: AwsHarness) -> None:
    found = await the_error(with_options(harness, hosted_zone="example.com"), "hosted zone example.com")
    assert "no public hosted zone" in found.cause and "example.org" in found.evidence
    assert "aws route53 create-hosted-zone --name example.com" in found.fix


async def test_the_zone_is_found_by_the_domain(harness: AwsHarness) -> None:
    plain = {one.check: one for one in await look(with_options(harness, hosted_zone=None))}
    assert "free in example.org" in plain[f"DNS record {RECORD}"].evidence
    harness.cloud.add_hosted_zone("sandbox.example.org")
    nearer = {one.check: one for one in await look(with_options(harness, hosted_zone=None))}
    assert "free in sandbox.example.org" in nearer[f"DNS record {RECORD}"].evidence


async def test_a_private_zone(harness: AwsHarness) -> None:
    harness.cloud.add_hosted_zone("internal.org", private=True)
    wrong = with_options(harness, hosted_zone="internal.org")
    found = await the_error(wrong, "hosted zone internal.org")
    assert "private" in found.cause and "public zone" in found.fix


async def test_a_zone_that_cannot_hold_the_record(harness: AwsHarness) -> None:
    harness.cloud.add_hosted_zone("other.net")
    found = await the_error(with_options(harness, hosted_zone="other.net"), "hosted zone other.net")
    assert found.cause == f"the zone other.net cannot hold {RECORD}" and "`aws.domain`" in found.fix


async def test_two_zones_of_one_name(harness: AwsHarness) -> None:
    harness.cloud.add_hosted_zone("example.org")
    found = await the_error(harness, "hosted zone example.org")
    assert "2 public hosted zones" in found.cause and "by id" not in found.fix and "`aws.hosted_zone`" in found.fix


async def test_a_zone_by_an_id_that_does_not_exist(harness: AwsHarness) -> None:
    found = await the_error(with_options(harness, hosted_zone="Z0123456789ABC"), "hosted zone Z0123456789ABC")
    assert "no hosted zone Z0123456789ABC" in found.cause and ACCOUNT in found.evidence


def add_record(harness: AwsHarness, kind: str, value: str) -> None:
    route53 = harness.client("route53")
    zone = route53.list_hosted_zones()["HostedZones"][0]["Id"]
    record = {"Name": RECORD, "Type": kind, "TTL": 60, "ResourceRecords": [{"Value": value}]}
    changes = [{"Action": "CREATE", "ResourceRecordSet": record}]
    route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": changes})


@pytest.mark.parametrize(("kind", "value"), [("A", "192.0.2.1"), ("CNAME", "elsewhere.example.net")])
async def test_a_record_that_points_elsewhere(harness: AwsHarness, kind: str, value: str) -> None:
    add_record(harness, kind, value)
    found = await the_error(harness, f"DNS record {RECORD}")
    assert "does not point to this cluster's load balancer" in found.cause
    assert found.evidence.rstrip(".") == f"{kind} {value}" and "`aws.domain`" in found.fix


async def test_other_records_of_the_name_are_not_in_the_way(harness: AwsHarness) -> None:
    add_record(harness, "TXT", '"x"')
    assert {one.level for one in await look(harness)} == {"ok"}


async def test_a_record_that_does_not_resolve(harness: AwsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """The domain is not delegated to the zone."""
    await create_all(harness.provider())
    monkeypatch.setattr(checks_record, "resolves", resolving())
    more = with_options(harness, nodes={**NODES, "w-2": spec_of("w-2")})
    found = await the_only(more, "warning", f"DNS record {RECORD}", [spec_of("w-2")])
    assert "does not resolve" in found.cause and "name servers of the zone example.org: ns-" in found.evidence
    assert found.fix.splitlines()[1] == "dig +short NS example.org"


async def test_names_are_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await checks_record.resolves("127.0.0.1")

    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert not await checks_record.resolves("k8s.example.org")


async def test_without_a_domain_no_record_is_looked_at(harness: AwsHarness) -> None:
    plain = with_options(harness, domain=None, hosted_zone=None)
    assert not [one for one in await look(plain) if "record" in one.check or "zone " in one.check]
    assert not [call for call in harness.cloud.calls if call.service == "route53"]


# Checks hide no other


async def test_all_that_is_wrong_is_found_at_once(harness: AwsHarness) -> None:
    harness.cloud.quotas["vpc", "L-F678F1CE"] = 1.0
    harness.cloud.deny("ec2:RunInstances")
    add_record(harness, "A", "192.0.2.1")
    wrong = with_options(harness, azs=[f"{REGION}a", f"{REGION}x"], instance_type="t9.huge")
    found = [one.check for one in await look(wrong) if one.level == "error"]
    assert found == [
        "permissions", "availability zones", "instance type t9.huge", "quota of VPCs", f"DNS record {RECORD}",
    ]  # fmt: skip


async def test_a_check_that_fails_hides_no_other(harness: AwsHarness) -> None:
    harness.cloud.refuse("ec2:DescribeImages", "InvalidParameterValue", "no", times=9)
    harness.cloud.refuse("route53:ListHostedZones", "Broken", "no", times=9)
    found = {one.check: one.level for one in await look(harness)}
    assert found["image"] == found["hosted zone"] == "error"
    assert found["permissions"] == found["instance types"] == found["quota of VPCs"] == "ok"


async def test_a_check_that_takes_too_long_is_left_open(harness: AwsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "_PATIENCE", 0.0)
    found = await look(harness)
    assert [one.level for one in found] == ["ok", *["note"] * (len(found) - 1)]
    assert "no answer from AWS within" in found[1].cause


async def test_no_answer_at_all(harness: AwsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks_identity, "_FIRST", 0.0)
    found = await the_error(harness, "AWS API")
    assert "no answer from AWS" in found.cause and "curl" in found.fix
