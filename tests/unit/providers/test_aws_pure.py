"""What of the provider of AWS is pure: rules, policies, marks, bills, user data, and what errors of AWS mean."""

from __future__ import annotations

import gzip
import random
import string
from typing import Any

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import ID_TAG, Owner
from talosmith.model.providers import Aws
from talosmith.model.resources import ResourceKey, ResourceSpec
from talosmith.model.secret import Secret
from talosmith.providers.aws.billing import billed
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import Credentials, Denied, Gone, Interrupted, InUse, There, Throttled, failure
from talosmith.providers.aws.kinds import OnEc2
from talosmith.providers.aws.launch import device, gib, token
from talosmith.providers.aws.marks import Marks, as_list, as_tags, of_cluster
from talosmith.providers.aws.policies import document_of, fingerprint, managed, partition
from talosmith.providers.aws.rules import Rule, as_egress, read
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.user_data import LIMIT, user_data
from talosmith.providers.aws.wanted import Wanted
from tests.machine_specs import machine_spec

OWNER = Owner("tested", "0123456789abcdef")
SPECS = [
    machine_spec("cp-1", "controlplane", "10.0.0.11", disks_mib=(20480,)),
    machine_spec("w-1", "worker", "10.0.0.101", disks_mib=(20480, 1500)),
]
RULES = [
    Rule("tcp", 6443, 6443, "203.0.113.0/24"), Rule("udp", 1000, 2000, "2001:db8::/32"), Rule("all"),
    Rule("tcp", 50000, 50000, "security-group nodes"), Rule("tcp", 443, 443, "pl-0123"), Rule("tcp", 1, 1, "sg-0123"),
]  # fmt: skip


def settings(**options: Any) -> AwsSettings:
    section = Aws.model_validate({"region": "eu-central-1", "azs": ["eu-central-1a", "eu-central-1b"], **options})
    return AwsSettings(section=section, owner=OWNER, specs={one.name: one for one in SPECS})


# Rules


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_rule_is_read_as_it_was_sent(rule: Rule) -> None:
    assert Rule.parse(str(rule)) == rule and Rule.parse(as_egress(rule)) == rule
    sent = rule.permission(lambda source: f"id of {source}", "why")
    assert [*read([sent], lambda source: source.removeprefix("id of "))] == [(rule, "why")]


def test_rules_are_read_from_each_source_of_a_permission() -> None:
    permission = {
        "IpProtocol": "tcp", "FromPort": 80, "ToPort": 81, "IpRanges": [{"CidrIp": "10.0.0.0/8"}],
        "Ipv6Ranges": [{"CidrIpv6": "::/0"}], "UserIdGroupPairs": [{"GroupId": "sg-1", "Description": "x"}],
        "PrefixListIds": [{"PrefixListId": "pl-1"}],
    }  # fmt: skip
    found = {str(rule): why for rule, why in read([permission], lambda source: source.replace("sg-1", "ours"))}
    assert found == {f"tcp 80-81 from {one}": "" for one in ("10.0.0.0/8", "::/0", "pl-1")} | {
        "tcp 80-81 from ours": "x"
    }


def test_all_protocols_have_no_ports() -> None:
    sent = Rule("all").permission(str, "x")
    assert sent["IpProtocol"] == "-1" and "FromPort" not in sent
    assert str(Rule("all")) == "all from 0.0.0.0/0" and as_egress(Rule("all")) == "all to 0.0.0.0/0"


# Policies


def test_policies_by_their_short_names() -> None:
    assert managed("ecr-read-only", "eu-central-1") == "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly"
    assert managed("ebs-csi", "cn-north-1").startswith("arn:aws-cn:iam::aws:policy/service-role/")
    assert managed("arn:aws:iam::1:policy/x", "eu-central-1") == "arn:aws:iam::1:policy/x"
    regions = {"eu-central-1": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "us-east-1": "aws"}
    assert {region: partition(region) for region in regions} == regions


def test_the_cloud_controllers_policy_is_smaller_for_workers() -> None:
    def actions(group: str) -> set[str]:
        return {*document_of("cloud-controller", group)["Statement"][0]["Action"]}

    assert actions("workers") < actions("controlplane") and "ec2:DescribeInstances" in actions("workers")
    assert document_of("ecr-read-only", "controlplane") == {}


def test_the_fingerprint_of_a_policy_is_the_same_in_any_order() -> None:
    assert fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1}) != fingerprint({"a": 1, "b": [3]})


# Marks


def test_marks() -> None:
    marks = Marks(OWNER, {"team": "a"})
    key = ResourceKey("security-group", "nodes")
    tags = marks.tags(key)
    assert tags["team"] == "a" and tags["Name"] == "tested-nodes" and marks.key_of(tags) == key
    assert marks.key_of({**tags, ID_TAG: "f" * 16}) is None and marks.key_of(OWNER.resource_tags) is None
    assert as_tags(as_list(tags)) == tags
    assert marks.specification("subnet", key, more="x")[0]["ResourceType"] == "subnet"
    assert len(f"{marks.unique}-talos") <= 32, "AWS takes no longer name of a target group"
    assert OWNER.id in marks.kubernetes_tag and OWNER.id in marks.path


def test_tags_of_the_user_do_not_replace_ours() -> None:
    tags = Marks(OWNER, {ID_TAG: "x", "Name": "x"}).tags(ResourceKey("vpc", "main"))
    assert tags[ID_TAG] == OWNER.id and tags["Name"] == "tested-main"


def test_filters() -> None:
    assert of_cluster(OWNER) == [{"Name": f"tag:{ID_TAG}", "Values": [OWNER.id]}]
    assert of_cluster(OWNER, "x") == [{"Name": "tag-key", "Values": [ID_TAG, "x"]}]


# Bills


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("2 × t3.medium", "3 gp3 volumes of 42 GiB in all", "4 public addresses", "1 network load balancer")),
        (
            {"spot": True, "balancer": {"internal": True}},
            ("1 × t3.medium", "1 × t3.medium (spot)", "3 gp3 volumes of 42 GiB in all", "2 public addresses",
             "1 network load balancer"),
        ),
        (
            {"private": True, "nat_gateways": "each-az"},
            ("2 × t3.medium", "3 gp3 volumes of 42 GiB in all", "4 public addresses", "1 network load balancer",
             "2 NAT gateways"),
        ),
    ],
)  # fmt: skip
def test_what_is_billed(options: dict[str, Any], expected: tuple[str, ...]) -> None:
    of = settings(**options)
    assert billed(of, SPECS, Wanted(of).all(["203.0.113.0/24"])) == expected


def test_what_is_billed_of_one_machine_and_of_none() -> None:
    of = settings()
    assert billed(of, SPECS[:1], ()) == ("1 × t3.medium", "1 gp3 volume of 20 GiB in all", "1 public address")
    assert billed(of, (), [ResourceSpec(kind="vpc", name="main", settings={})]) == ()


# User data


def test_small_configs_are_sent_as_they_are() -> None:
    assert user_data("w-1", Secret("x" * 12 * 1024)) == b"x" * 12 * 1024
    large = user_data("w-1", Secret("x" * (12 * 1024 + 1)))
    assert gzip.decompress(large) == b"x" * (12 * 1024 + 1) and large == user_data("w-1", Secret("x" * 12289))


def test_a_config_that_is_too_large_is_refused() -> None:
    text = "".join(random.Random(1).choices(string.printable, k=40_000))  # noqa: S311 # what cannot be compressed
    with pytest.raises(Permanent) as refused:
        user_data("w-1", Secret(text))
    said = str(refused.value)
    assert "w-1" in said and "40000 bytes" in said and str(LIMIT) in said and text[:20] not in said
    assert "`aws.seed: false`" in str(refused.value.hint) and "inline manifests" in str(refused.value.hint)


# Launches


def test_sizes_devices_and_tokens() -> None:
    assert [gib(mib) for mib in (1, 1024, 1025, 20480)] == [1, 1, 2, 20]
    assert [device(number) for number in range(3)] == ["/dev/xvda", "/dev/sdb", "/dev/sdc"]
    of = settings()
    tokens = {token(of, name, number) for name in ("a", "b") for number in range(3)}
    assert len(tokens) == 6 and all(len(one) <= 64 for one in tokens) and token(of, "a", 0) in tokens


# Errors


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InvalidVpcID.NotFound", Gone), ("InvalidInstanceID.NotFound", Gone), ("NoSuchEntity", Gone),
        ("LoadBalancerNotFound", Gone), ("TargetGroupNotFoundException", Gone), ("NatGatewayNotFound", Gone),
        ("EntityAlreadyExists", There), ("InvalidPermission.Duplicate", There), ("RouteAlreadyExists", There),
        ("DuplicateLoadBalancerName", There), ("Resource.AlreadyAssociated", There),
        ("InvalidSubnet.Conflict", There),
        ("DependencyViolation", InUse), ("DeleteConflict", InUse), ("ResourceInUse", InUse),
        ("RequestLimitExceeded", Throttled), ("Throttling", Throttled), ("TooManyRequestsException", Throttled),
        ("InternalError", Interrupted), ("ServiceUnavailable", Interrupted), ("503", Interrupted),
        ("ExpiredToken", Credentials), ("AuthFailure", Credentials), ("RequestTimeTooSkewed", Credentials),
        ("UnauthorizedOperation", Denied), ("AccessDeniedException", Denied),
        ("InsufficientInstanceCapacity", Temporary), ("IncorrectInstanceState", Temporary),
        ("VcpuLimitExceeded", Permanent), ("OperationNotPermitted", Permanent), ("WhatIsThis", Permanent),
    ],
)  # fmt: skip
def test_what_a_code_means(code: str, kind: type[Exception]) -> None:
    wrong = failure("ec2:X", code, "said so")
    assert type(wrong) is kind and wrong.hint and "ec2:X" in str(wrong) and code in str(wrong)


def test_a_denied_action_is_named_and_the_encoded_message_is_not_shown() -> None:
    text = "You are not authorized to perform: ec2:CreateVpc. Encoded authorization failure message: AAAABBBB"
    wrong = failure("ec2:CreateVpc", "UnauthorizedOperation", text)
    assert isinstance(wrong, Denied) and wrong.action == "ec2:CreateVpc" and "AAAABBBB" not in str(wrong)


# Rivals


async def _single(looks: list[list[str]]) -> tuple[str, list[str]]:
    """With what each look shows, the last one for ever: the result, and what was created or deleted."""
    done: list[str] = []

    async def look() -> list[str]:
        return looks.pop(0) if len(looks) > 1 else looks[0]

    async def create() -> str:
        done.append("create")
        return "m"

    async def delete(identity: str) -> None:
        done.append(f"delete {identity}")

    base = settings()
    of = AwsSettings(section=base.section, owner=base.owner, specs=base.specs, settle=0.01)
    return await OnEc2(AwsClient("eu-central-1"), of).single(look, create, delete), done


@pytest.mark.parametrize(
    ("looks", "result", "done"),
    [
        ([[], ["m"]], "m", ["create"]),
        ([["a"]], "a", []),
        ([[], ["m", "n"]], "m", ["create"]),  # the other gives up
        ([[], ["a", "m"], ["a"]], "a", ["create", "delete m"]),
        ([["b"], ["a", "b"], ["a"]], "a", []),  # one that is new may yet be given up
        ([["b"], []], "m", ["create"]),
        ([["a", "b"]], "a", []),  # a killed run left one
    ],
)
async def test_rivals_end_with_one(looks: list[list[str]], result: str, done: list[str]) -> None:
    assert await _single([*looks]) == (result, done)
