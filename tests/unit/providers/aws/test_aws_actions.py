"""The list of IAM actions: each call in the source of the provider has its permission, and no other is listed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import boto3
import pytest

from talosmith.providers.aws import actions
from talosmith.providers.aws.permissions import needed_actions
from tests.unit.providers.aws.aws_policies import EXISTING, LARGEST, settings

pytestmark = pytest.mark.slow

SOURCE = Path(actions.__file__).parent
PREFIXES = {
    "ec2": "ec2", "iam": "iam", "elbv2": "elasticloadbalancing", "elb": "elasticloadbalancing", "route53": "route53",
    "sts": "sts", "service-quotas": "servicequotas",
}  # fmt: skip
HELPERS = {"ec2": "ec2", "_ec2": "ec2", "iam": "iam", "elb": "elbv2"}  # methods that call one service


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
