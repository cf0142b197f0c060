"""Findings of the preflight of AWS: each has a cause and a fix, and the look for them changes nothing."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from talosmith.model.machines import MachineSpec
from talosmith.providers.base import Finding
from tests.unit.providers.aws.aws_harness import BOTH, RECORD, AwsHarness

MACHINES = tuple(BOTH.values())
LIMIT = 10.0  # seconds
ACCOUNT = "123456789012"
CALLER = f"arn:aws:iam::{ACCOUNT}:user/talosmith"


def resolving(*names: str) -> Callable[[str], Awaitable[bool]]:
    async def resolves(name: str) -> bool:
        return name in names

    return resolves


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


def add_record(harness: AwsHarness, kind: str, value: str) -> None:
    route53 = harness.client("route53")
    zone = route53.list_hosted_zones()["HostedZones"][0]["Id"]
    record = {"Name": RECORD, "Type": kind, "TTL": 60, "ResourceRecords": [{"Value": value}]}
    changes = [{"Action": "CREATE", "ResourceRecordSet": record}]
    route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": changes})
