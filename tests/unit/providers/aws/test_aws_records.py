"""The DNS record and the policies of a cluster on AWS, whose account it is, and calls that fail."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.model.resources import Resource, ResourceKey
from talosmith.providers.aws.failures import There
from talosmith.providers.aws.wanted import BALANCER, VPC
from talosmith.providers.base import Known
from tests.loopback import unused_port
from tests.provider_contract import refusal
from tests.resource_contract import create_all
from tests.simulators.aws import Cloud, Server
from tests.unit.providers.aws.aws_harness import (
    BOTH,
    OWNER,
    PLAIN,
    RECORD,
    RECORDED,
    REGION,
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


# The record


def _point(harness: AwsHarness, action: str, **record: Any) -> None:
    route53 = harness.client("route53")
    zone = route53.list_hosted_zones()["HostedZones"][0]["Id"]
    change = {"Action": action, "ResourceRecordSet": {"Name": RECORD, "Type": "A", **record}}
    route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": [change]})


async def test_a_record_that_points_to_a_former_load_balancer_is_mended(harness: AwsHarness) -> None:
    await create_all(harness.provider())
    before = harness.cloud.kept()
    old = {"HostedZoneId": "Z3F0SRJ5LGBH90", "EvaluateTargetHealth": False}
    name = f"talosmith-{OWNER.id}-0123456789abcdef.elb.{REGION}.amazonaws.com"
    _point(harness, "UPSERT", AliasTarget={**old, "DNSName": name})
    assert (await difference(harness, RECORDED)).settings[0].before == name
    await mend(harness, RECORDED)
    assert harness.cloud.kept() == before


async def test_a_foreign_record_is_refused(harness: AwsHarness) -> None:
    _point(harness, "CREATE", TTL=60, ResourceRecords=[{"Value": "198.51.100.7"}])
    provider, before = harness.provider(), harness.cloud.kept()
    spec = next(one for one in provider.resources() if one.key == RECORDED)
    balancer = Resource(
        id="x", kind=BALANCER.kind, name=BALANCER.name, settings={}, outputs={"dns_name": "a", "zone_id": "Z"}
    )
    refused = await refusal(provider.create_resource(spec, Known(resources={BALANCER: balancer}, machines={})))
    assert isinstance(refused, There) and RECORD in str(refused) and "delete the record" in str(refused.hint)
    assert harness.cloud.kept() == before and RECORDED not in await there(harness)


async def test_the_record_of_a_domain_that_was_removed_is_left_over(harness: AwsHarness) -> None:
    await create_all(harness.provider())
    without = replace(harness.given(domain=None, hosted_zone=None), record="")
    provider = without.provider()
    found = await provider.find_resources()
    assert RECORDED not in [one.key for one in found]
    (left,) = [one for one in (await provider.leftovers(found)).own if one.kind == "dns-record"]
    assert left.key == RECORDED
    await provider.delete_resource(left)
    assert RECORDED not in await there(harness)


async def test_a_zone_on_a_later_page(harness: AwsHarness) -> None:
    for number in range(130):
        harness.cloud.add_hosted_zone(f"other-{number}.example")
    harness.cloud.add_hosted_zone("later.example")
    later = replace(harness.given(domain="later.example", hosted_zone=None), record="k8s.later.example")
    provider = later.provider()
    spec = next(one for one in provider.resources() if one.kind == "dns-record")
    outputs = {"dns_name": f"talosmith-{OWNER.id}-1.elb.{REGION}.amazonaws.com", "zone_id": "Z3F0SRJ5LGBH90"}
    balancer = Resource(id="x", kind=BALANCER.kind, name=BALANCER.name, settings={}, outputs=outputs)
    await provider.create_resource(spec, Known(resources={BALANCER: balancer}, machines={}))
    assert len([call for call in harness.cloud.calls if call.action == "ListHostedZones"]) > 1
    assert spec.key in await there(later)


# Roles


async def test_a_policy_that_was_changed_by_hand_is_mended(harness: AwsHarness) -> None:
    """As often as it happens: IAM keeps five versions."""
    more = harness.given(iam={"controlplane": ["cloud-controller"], "workers": []})
    provider, key = more.provider(), ResourceKey("policy", "cloud-controller-controlplane")
    spec = next(one for one in provider.resources() if one.key == key)
    made = await provider.create_resource(spec, Known(resources={}, machines={}))
    iam = harness.client("iam")
    allow = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    for _ in range(6):
        iam.create_policy_version(PolicyArn=made.id, PolicyDocument=document, SetAsDefault=True)
        await mend(more, key)
    version = iam.get_policy(PolicyArn=made.id)["Policy"]["DefaultVersionId"]
    now = iam.get_policy_version(PolicyArn=made.id, VersionId=version)["PolicyVersion"]["Document"]
    assert now["Statement"][0]["Action"] != "*"


# The connection


async def test_another_account_is_not_looked_into(harness: AwsHarness) -> None:
    other = harness.given(account_id="999999999999")
    for _ in range(2):  # AWS is asked; then the VPC tells
        refused = await refusal(other.provider().find_resources())
        assert (
            "123456789012" in str(refused) and "999999999999" in str(refused) and "`aws.profile`" in str(refused.hint)
        )
        await harness.stand(harness.provider())
    assert await harness.given(account_id="123456789012").provider().find_resources()


async def test_calls_that_were_too_many_are_repeated(harness: AwsHarness) -> None:
    await harness.stand(harness.provider())
    harness.cloud.calls.clear()
    harness.cloud.throttle(5)
    assert VPC in await there(harness)
    assert len([call for call in harness.cloud.calls if call.error and "NotFound" not in call.error]) == 5
    harness.cloud.throttle(1000)
    with pytest.raises(Temporary) as wrong:
        await harness.provider().find_resources()
    assert "AWS limits calls" in str(wrong.value.hint)


async def test_an_api_that_cannot_be_reached_is_tried_again(
    harness: AwsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    with unused_port() as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        with pytest.raises(Temporary) as wrong:
            await harness.provider().find_resources()
    assert str(port) in str(wrong.value) and "a region, and reachable" in str(wrong.value.hint)


async def test_what_was_not_carried_out_is_refused_with_its_reason(harness: AwsHarness) -> None:
    harness.cloud.refuse("ec2:CreateVpc", "VpcLimitExceeded", "The maximum number of VPCs has been reached.")
    provider = harness.provider()
    spec = next(one for one in provider.resources() if one.key == VPC)
    with pytest.raises(Permanent) as refused:
        await provider.create_resource(spec, Known(resources={}, machines={}))
    assert "maximum number of VPCs" in str(refused.value) and "quota" in str(refused.value.hint)
