"""The preflight of the DNS record: the hosted zone that holds it, what it points to, and whether it resolves."""

from __future__ import annotations

import socket

import pytest

from talosmith.providers.aws import checks_record
from tests.resource_contract import create_all
from tests.unit.providers.aws.aws_findings import (
    ACCOUNT,
    add_record,
    look,
    resolving,
    the_error,
    the_only,
    with_options,
)
from tests.unit.providers.aws.aws_harness import BOTH, RECORD, AwsHarness, spec_of

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


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
    more = with_options(harness, nodes={**BOTH, "w-2": spec_of("w-2")})
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
