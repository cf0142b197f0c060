"""The preflight of the AWS caller: its credentials, account and clock, and the permissions that it lacks."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from talosmith.providers.aws import client
from talosmith.providers.aws.permissions import needed_actions, policy
from tests.loopback import unused_port
from tests.unit.providers.aws.aws_findings import ACCOUNT, CALLER, look, the_error, the_only, with_options
from tests.unit.providers.aws.aws_harness import BOTH, REGION, AwsHarness

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


# Credentials


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
    other = AwsHarness(harness.cloud, harness.server, owner=type(harness.owner)("other", "f" * 16), nodes=BOTH)
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
