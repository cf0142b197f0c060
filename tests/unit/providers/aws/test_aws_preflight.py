"""The preflight of AWS as a whole: the order of its checks, and that no failed or slow check hides another."""

from __future__ import annotations

import pytest

from talosmith.providers.aws import checks_identity, preflight
from tests.resource_contract import create_all
from tests.unit.providers.aws.aws_findings import ACCOUNT, CALLER, add_record, look, the_error, with_options
from tests.unit.providers.aws.aws_harness import BOTH, RECORD, REGION, AwsHarness, spec_of

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


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
    more = with_options(harness, nodes={**BOTH, "w-2": spec_of("w-2")})
    for specs in ([spec_of("w-2")], [BOTH["w-1"]]):
        found = await look(more, specs)
        assert {one.level for one in found} == {"ok"}, found
    assert "this cluster has it" in {one.check: one.evidence for one in found}[f"DNS record {RECORD}"]
    assert "addresses" in [one.check for one in found]
    tried = {call.action for call in harness.cloud.calls if call.dry_run}
    assert tried == {"CreateVpc", "CreateInternetGateway", "CreateVolume", "RunInstances"}


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
