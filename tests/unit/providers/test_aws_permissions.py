"""The IAM policy of an inventory: enough for all that the provider does in AWS, and for little else.

The simulated AWS judges each call by the policy, as IAM does. A call that is added to the provider without a
permission fails the first test.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest

from talosmith import load
from talosmith.cli.app import run
from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import create_secrets, read_secrets
from talosmith.desired.target import owner_of
from talosmith.model.machines import ID_TAG, MachineSpec
from talosmith.model.providers import Aws
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec
from talosmith.providers.aws import actions, settings_of
from talosmith.providers.aws.failures import Denied
from talosmith.providers.aws.permissions import LIMIT, needed_actions, policy, statements
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.statement import Statement
from talosmith.providers.base import Known
from tests.machine_specs import with_settings
from tests.resource_contract import create_all, delete_all
from tests.simulators.aws import Cloud, Server
from tests.simulators.aws.policy import checks
from tests.unit.providers.aws_harness import OWNER, ZONES, AwsHarness, spec_of

pytestmark = pytest.mark.slow

SOURCE = Path(actions.__file__).parent
EXAMPLES = Path(__file__).parents[3] / "examples" / "aws"
PREFIXES = {
    "ec2": "ec2", "iam": "iam", "elbv2": "elasticloadbalancing", "elb": "elasticloadbalancing", "route53": "route53",
    "sts": "sts", "service-quotas": "servicequotas",
}  # fmt: skip
HELPERS = {"ec2": "ec2", "_ec2": "ec2", "iam": "iam", "elb": "elbv2"}  # methods that call one service
NODES = {one.name: one for one in (spec_of("cp-1", "controlplane"), spec_of("w-1"))}
EXISTING: dict[str, Any] = {
    "vpc_id": "vpc-0123456789abcdef0",
    "subnets": {
        "eu-central-1a": {"id": "subnet-0123456789abcdef0", "cidr": "10.0.0.0/20"},
        "eu-central-1b": {"id": "subnet-0123456789abcdef1", "cidr": "10.0.16.0/20"},
    },
}
LARGEST: dict[str, Any] = {
    "private": True, "nat_gateways": "each-az", "spot": True, "kms_key": "alias/talos", "account_id": "123456789012",
    "iam": ["cloud-controller", "ebs-csi", "ecr-read-only", "arn:aws:iam::123456789012:policy/mine"],
}  # fmt: skip


def settings(record: str = "k8s.sandbox.example.org", **options: Any) -> AwsSettings:
    section = {"region": "eu-central-1", "azs": [*ZONES], **options}
    return AwsSettings(section=Aws.model_validate(section), owner=OWNER, specs=NODES, record=record)


# Every call has its permission


@cache
def methods(service: str) -> Mapping[str, str]:
    found = boto3.client(service, region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x")
    return dict(found.meta.method_to_api_mapping)


def called(source: str) -> Iterator[frozenset[str]]:
    """Actions, as policies name them, of each call: one of them, where its service or its name is a variable."""
    tree = ast.parse(source)
    documented = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    seen: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            arguments = list(node.args)
            service = HELPERS.get(node.func.attr, "")
            if node.func.attr in ("call", "listed") and isinstance(first := arguments.pop(0), ast.Constant):
                service = str(first.value)
            if service and arguments and isinstance(name := arguments[0], ast.Constant):
                seen.add(id(name))
                yield frozenset({f"{PREFIXES[service]}:{methods(service)[str(name.value)]}"})
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in seen | documented:
            if "*" not in node.value and (found := frozenset(matching(node.value))):
                yield found
        elif isinstance(node, ast.JoinedStr):
            pattern = "".join(str(one.value) if isinstance(one, ast.Constant) else "*" for one in node.values)
            if "_" in pattern.partition("*")[0]:
                yield from (frozenset({one}) for one in matching(pattern))


def matching(pattern: str) -> Iterator[str]:
    """Actions of all services whose methods have such a name."""
    for service, prefix in PREFIXES.items():
        names = [one for one in methods(service) if "_" in one and fnmatchcase(one, pattern)]
        yield from (f"{prefix}:{methods(service)[one]}" for one in names)


def calls_of(*files: Path) -> set[frozenset[str]]:
    return {one for file in files for one in called(file.read_text())}


def all_listed() -> frozenset[str]:
    """Actions of inventories that together want everything."""
    existing = settings(vpc_id=EXISTING["vpc_id"], private=True)
    return needed_actions(settings(**LARGEST)) | needed_actions(existing) | needed_actions(settings())


def test_every_call_of_the_provider_has_its_permission() -> None:
    found = calls_of(*SOURCE.glob("*.py"))
    assert {"ec2:RunInstances", "ec2:RevokeSecurityGroupEgress", "sts:GetCallerIdentity"} <= set().union(*found)
    listed = all_listed() | actions.OPTIONAL | actions.WITHOUT_POLICY
    missing = sorted(" or ".join(sorted(one)) for one in found if not one & listed)
    assert not missing, "add them to actions.py"


def test_no_permission_is_listed_that_no_call_needs() -> None:
    """Besides those that AWS asks for on behalf of a call: tags on creation, roles that are passed, keys."""
    implied = {
        "ec2:CreateTags", "elasticloadbalancing:AddTags", "iam:TagRole", "iam:TagInstanceProfile", "iam:TagPolicy",
        "iam:PassRole", "iam:CreateServiceLinkedRole", "ec2:DescribeAccountAttributes", "ec2:DescribeAddresses",
    }  # fmt: skip
    unused = {one for one in all_listed() if not one.startswith("kms:")} - implied
    unused -= set().union(*calls_of(*SOURCE.glob("*.py")))
    assert not unused, "remove them from actions.py"


def test_what_only_checks_need_is_called_by_checks_alone() -> None:
    """Without it machines can be created, so to lack it is no error."""
    files = [one for one in SOURCE.glob("*.py") if not one.name.startswith(("checks_", "preflight"))]
    assert not set().union(*calls_of(*files)) & actions.CHECKS
    assert all_listed() >= actions.CHECKS


@pytest.mark.parametrize(
    ("source", "actions"),
    [
        ('self.ec2("create_key_pair", KeyName="x")', {"ec2:CreateKeyPair"}),
        ('self.client.listed("iam", "list_users", "Users")', {"iam:ListUsers"}),
        ('self._change(f"authorize_security_group_{kind}")', {"ec2:AuthorizeSecurityGroupEgress"}),
        ('{"x": ("ec2", "delete_volume", "VolumeId")}', {"ec2:DeleteVolume"}),
        ('self.client.call(service, "describe_tags")', {"ec2:DescribeTags", "elasticloadbalancing:DescribeTags"}),
    ],
)
def test_a_call_is_found_however_it_is_written(source: str, actions: set[str]) -> None:
    assert frozenset(actions) in set(called(f"x = {source}"))


# As much as the inventory wants, and no more


def example(name: str) -> AwsSettings:
    cluster = load(EXAMPLES / name)
    assert isinstance(cluster.provider, Aws)
    return settings_of(cluster, cluster.provider, OWNER)


@pytest.mark.parametrize("name", ["sandbox", "staging", "production"])
def test_policies_of_the_examples_fit_into_a_managed_policy(name: str) -> None:
    assert len(json.dumps(policy(example(name)), separators=(",", ":"))) < LIMIT


def test_the_largest_policy_fits_into_a_managed_policy() -> None:
    for more in ({}, {"vpc_id": EXISTING["vpc_id"]}):
        assert len(json.dumps(policy(settings(**LARGEST, **more)), separators=(",", ":"))) < LIMIT


def test_what_an_inventory_does_not_want_is_not_allowed() -> None:
    plain = needed_actions(settings(record=""))
    for part in ("Nat", "Address", "RouteTable", "route53:", "InstanceProfile", "iam:PassRole", "kms:"):
        changing = {
            one for one in plain if part in one and not one.partition(":")[2].startswith(("Describe", "List"))
        }
        assert changing <= {
            "ec2:AssociateIamInstanceProfile", "ec2:DisassociateIamInstanceProfile",
            "ec2:ReplaceIamInstanceProfileAssociation",
        }, part  # fmt: skip
    assert {"ec2:CreateNatGateway", "ec2:AllocateAddress"} <= needed_actions(settings(private=True))
    assert "iam:PassRole" in needed_actions(settings(iam=["ecr-read-only"]))
    assert "iam:CreatePolicy" not in needed_actions(settings(iam=["ecr-read-only"]))
    assert "iam:CreatePolicy" in needed_actions(settings(iam=["cloud-controller"]))
    assert "spot.amazonaws.com" in json.dumps(policy(settings(spot=True)))
    assert "spot" not in json.dumps(policy(settings()))
    existing = needed_actions(settings(**EXISTING))
    assert not {"ec2:CreateVpc", "ec2:DeleteVpc", "ec2:CreateSubnet", "ec2:CreateInternetGateway"} & existing
    assert "ec2:CreateRouteTable" not in existing
    assert "ec2:CreateRouteTable" in needed_actions(settings(vpc_id=EXISTING["vpc_id"]))


def statement(found: AwsSettings, sid: str) -> dict[str, Any]:
    return next(one.document() for one in statements(found) if one.sid == sid)


def test_only_reading_reaches_the_rest_of_the_account() -> None:
    for found in (settings(**LARGEST), settings(**EXISTING), settings()):
        for one in policy(found)["Statement"]:
            names = [one["Action"]] if isinstance(one["Action"], str) else one["Action"]
            reads = all(name.partition(":")[2].startswith(("Describe", "Get", "List", "Simulate")) for name in names)
            assert reads is (one["Resource"] == "*")
    tags = {f"aws:ResourceTag/{ID_TAG}": OWNER.id}
    assert statement(settings(), "ChangeOwn")["Condition"] == {"StringEquals": tags}
    assert statement(settings(), "Create")["Condition"] == {"StringEquals": {f"aws:RequestTag/{ID_TAG}": OWNER.id}}
    assert statement(settings(), "TagCreated")["Condition"]["Null"] == {"ec2:CreateAction": "false"}


def test_roles_are_limited_to_the_path_of_the_cluster() -> None:
    found = settings(iam={"controlplane": ["cloud-controller", "ecr-read-only"], "workers": []})
    role = f"arn:aws:iam::*:role/talosmith/{OWNER.id}/*"
    assert statement(found, "Pass")["Resource"] == role
    assert statement(found, "Pass")["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}
    assert statement(found, "Attach")["Condition"]["ArnLike"]["iam:PolicyARN"] == [
        f"arn:aws:iam::*:policy/talosmith/{OWNER.id}/*",
        "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly",
    ]
    assert statement(found, "Roles")["Resource"] == [
        f"arn:aws:iam::*:{kind}/talosmith/{OWNER.id}/*" for kind in ("instance-profile", "policy", "role")
    ]


def test_the_zone_the_account_and_the_partition_are_those_of_the_inventory() -> None:
    found = settings(hosted_zone="Z0123456789ABC", domain="example.org", account_id="111122223333")
    assert statement(found, "Record")["Resource"] == "arn:aws:route53:::hostedzone/Z0123456789ABC"
    assert statement(found, "Create")["Resource"] == "arn:aws:ec2:eu-central-1:111122223333:*"
    by_name = settings(hosted_zone="example.org", domain="sandbox.example.org")
    assert statement(by_name, "Record")["Resource"] == "arn:aws:route53:::hostedzone/*"
    china = settings(region="cn-north-1", azs=["cn-north-1a"])
    assert '"arn:aws:' not in json.dumps(policy(china)) and "arn:aws-cn:ec2:cn-north-1" in json.dumps(policy(china))


def test_existing_subnets_and_vpcs_are_named() -> None:
    found = settings(**EXISTING)
    assert statement(found, "InVpc")["Resource"] == f"arn:aws:ec2:eu-central-1:*:vpc/{EXISTING['vpc_id']}"
    launch = statement(found, "Launch")["Resource"]
    assert "arn:aws:ec2:eu-central-1:*:subnet/subnet-0123456789abcdef0" in launch


# Enough for a whole life


@pytest.fixture
def cloud(empty_aws: tuple[Cloud, Server]) -> Cloud:
    return empty_aws[0]


def for_simulator(document: Mapping[str, Any]) -> dict[str, Any]:
    """The simulator knows neither which policy is attached to a role nor the instance of a profile's association."""
    found: dict[str, Any] = json.loads(json.dumps(document))
    for one in found["Statement"]:
        if one["Sid"] == "Attach":
            del one["Condition"]
    of_association = ["ec2:DisassociateIamInstanceProfile", "ec2:ReplaceIamInstanceProfileAssociation"]
    found["Statement"].append({"Sid": "X", "Effect": "Allow", "Action": of_association, "Resource": "*"})
    return found


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
    harness = AwsHarness(cloud, aws[1], nodes=NODES, options=options)
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
    harness = AwsHarness(cloud, aws[1], nodes=NODES)
    ec2 = harness.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    in_vpc = AwsHarness(cloud, aws[1], nodes=NODES, options={"vpc_id": vpc})
    before = await in_vpc.resources_there()
    cloud.calls.clear()
    cloud.allow_only(for_simulator(policy(in_vpc.settings())))
    provider = in_vpc.provider()
    await provider.preflight([*NODES.values()])
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
    harness = AwsHarness(cloud, aws[1], nodes=NODES, options={"private": True})
    cloud.allow_only(for_simulator(policy(harness.settings())))
    await harness.provider().preflight([*NODES.values()])
    known = await create_all(harness.provider())
    await harness.provider().create(NODES["w-1"])
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
    public = AwsHarness(cloud, aws[1], nodes=NODES)
    cloud.allow_only(for_simulator(policy(public.settings())))
    await life(public)
    listed = needed_actions(harness.settings()) | needed_actions(public.settings())
    zone = {"route53:GetHostedZone"}  # by id, or of a name that does not resolve
    assert listed - asked_for(cloud) - zone <= RARE
    denied = [call for call in cloud.calls if call.error in ("UnauthorizedOperation", "AccessDenied")]
    assert not denied


def _larger() -> dict[str, MachineSpec]:
    return {name: with_settings(spec, disks_mib=(40960, 10240, 10240)) for name, spec in NODES.items()}


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
    harness = AwsHarness(cloud, aws[1], nodes=NODES)
    cloud.allow_only(without(for_simulator(policy(harness.settings())), action))
    with pytest.raises(Denied) as refused:
        await life(harness, checked=False)
    assert action in str(refused.value)


@pytest.mark.real  # for its length alone
async def test_what_other_clusters_have_is_out_of_reach(cloud: Cloud, aws: tuple[Cloud, Server]) -> None:
    theirs = AwsHarness(cloud, aws[1], nodes=NODES)
    await create_all(theirs.provider())
    ids = [one.id for one in await theirs.provider().find()]
    ec2, vpcs = theirs.client("ec2"), theirs.client("ec2").describe_vpcs()["Vpcs"]
    own = AwsSettings(section=theirs.section, owner=type(OWNER)("mine", "f" * 16), specs=NODES)
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


# As a command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\n"
    text += "aws: {region: eu-central-1, azs: [eu-central-1a], domain: example.org}\n"
    (tmp_path / "cluster.yaml").write_text(
        text + "controlplane: {count: 1, disk: 40G}\nworkers: {count: 1, disk: 40G}\n"
    )
    return tmp_path


def test_the_command_prints_the_policy_of_the_cluster(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create_secrets(folder, Bundle.generate())
    capsys.readouterr()
    assert run(["render", "aws-policy", "-i", str(folder)]) == 0
    out, err = capsys.readouterr()
    cluster = load(folder)
    assert isinstance(cluster.provider, Aws) and not err
    owner = owner_of(cluster, read_secrets(folder).bundle)
    assert json.loads(out) == policy(settings_of(cluster, cluster.provider, owner))
    assert owner.id in out
    assert run(["render", "aws-policy", "-i", str(folder), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out)


def test_the_command_without_secrets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says so, and the policy covers any id."""
    assert run(["render", "aws-policy", "-i", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert "secrets.sops.yaml does not exist" in err and "talosmith secrets init" in err
    found = {one["Sid"]: one for one in json.loads(out)["Statement"]}
    assert found["ChangeOwn"]["Condition"] == {"StringLike": {f"aws:ResourceTag/{ID_TAG}": "*"}}
    assert "arn:aws:elasticloadbalancing:eu-central-1:*:targetgroup/talosmith-*-*" in found["Balance"]["Resource"]


def test_the_command_needs_no_boto3(folder: Path) -> None:
    program = "import sys; sys.modules['boto3'] = sys.modules['botocore'] = None; from talosmith.cli.app import run; "
    program += f"sys.exit(run(['render', 'aws-policy', '-i', {str(folder)!r}]))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["Version"] == "2012-10-17"


def test_the_command_is_for_aws_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "cluster.yaml").read_text()
    lab = "\n".join("lab: {}" if line.startswith("aws:") else line for line in text.splitlines())
    (folder / "cluster.yaml").write_text(lab)
    assert run(["render", "aws-policy", "-i", str(folder)]) == 64
    assert "provider `lab` needs no IAM policy" in capsys.readouterr().err


def test_statements_name_their_resources_once() -> None:
    found = Statement("X", {"ec2:A": ("b", "a"), "ec2:B": ("a",)})
    assert found.document() == {"Sid": "X", "Effect": "Allow", "Action": ["ec2:A", "ec2:B"], "Resource": ["a", "b"]}
