"""Records of the simulated Route 53 are created, changed and deleted as the real one would have it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.simulators.aws.aws_clients import Aws, refused

pytestmark = pytest.mark.slow  # moto takes seconds to import


@pytest.fixture
def zone(aws: Aws) -> str:
    return aws.cloud.add_hosted_zone("example.org")


def _change(aws: Aws, zone: str, action: str, **record: Any) -> str:
    wanted = {"Name": "k8s.example.org", "Type": "A", **record}
    changes = {"Changes": [{"Action": action, "ResourceRecordSet": wanted}]}
    made = aws.route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch=changes)
    return str(aws.route53.get_change(Id=made["ChangeInfo"]["Id"])["ChangeInfo"]["Status"])


def _address(address: str) -> dict[str, Any]:
    return {"TTL": 60, "ResourceRecords": [{"Value": address}]}


def test_a_record_is_created_once_and_deleted_as_it_is(aws: Aws, zone: str) -> None:
    assert _change(aws, zone, "CREATE", **_address("10.0.0.1")) == "INSYNC"
    with refused("InvalidChangeBatch", "already exists"):
        _change(aws, zone, "CREATE", **_address("10.0.0.2"))
    _change(aws, zone, "UPSERT", **_address("10.0.0.2"))
    assert aws.cloud.resolve("k8s.example.org") == "10.0.0.2"
    with refused("InvalidChangeBatch", "do not match the current values"):
        _change(aws, zone, "DELETE", **_address("10.0.0.1"))
    _change(aws, zone, "DELETE", **_address("10.0.0.2"))
    with refused("InvalidChangeBatch", "was not found"):
        _change(aws, zone, "DELETE", **_address("10.0.0.2"))
    assert aws.cloud.resolve("k8s.example.org") == ""


def test_an_alias_is_listed_with_a_dot(aws: Aws, zone: str) -> None:
    alias = {"DNSName": "API.elb.eu-central-1.amazonaws.com", "HostedZoneId": "Z3F0", "EvaluateTargetHealth": False}
    _change(aws, zone, "UPSERT", AliasTarget=alias)
    found = aws.route53.list_resource_record_sets(HostedZoneId=zone)["ResourceRecordSets"]
    (record,) = [one for one in found if one["Type"] == "A"]
    assert record["Name"] == "k8s.example.org."
    assert record["AliasTarget"]["DNSName"] == "api.elb.eu-central-1.amazonaws.com."
    _change(aws, zone, "DELETE", AliasTarget=alias)


def test_a_hosted_zones_reference_is_used_once(aws: Aws) -> None:
    aws.route53.create_hosted_zone(Name="example.org", CallerReference="one")
    with refused("HostedZoneAlreadyExists"):
        aws.route53.create_hosted_zone(Name="example.net", CallerReference="one")
