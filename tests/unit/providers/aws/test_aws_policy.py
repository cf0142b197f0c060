"""The IAM policy of an inventory: it allows what the inventory needs, on this cluster's resources alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talosmith import load
from talosmith.model.machines import ID_TAG
from talosmith.model.providers import Aws
from talosmith.providers.aws import settings_of
from talosmith.providers.aws.permissions import LIMIT, needed_actions, policy, statements
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.statement import Statement
from tests.unit.providers.aws.aws_harness import OWNER
from tests.unit.providers.aws.aws_policies import EXISTING, LARGEST, settings

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[4] / "examples" / "aws"


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


def test_statements_name_their_resources_once() -> None:
    found = Statement("X", {"ec2:A": ("b", "a"), "ec2:B": ("a",)})
    assert found.document() == {"Sid": "X", "Effect": "Allow", "Action": ["ec2:A", "ec2:B"], "Resource": ["a", "b"]}
