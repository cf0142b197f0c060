"""The DNS name of the API: a public hosted zone that may hold it, and a record that is free, or this cluster's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from talosmith.providers.aws.checks_base import Found, Planned, error, ok, warning
from talosmith.providers.aws.failures import Gone
from talosmith.providers.base import Finding
from talosmith.waiting import limited

_PORT = 6443
_RESOLVES = 3.0  # seconds


async def check_record(planned: Planned) -> list[Finding]:
    if not planned.settings.record:
        return []
    wanted = planned.settings.section.hosted_zone or ""
    by_id = wanted.startswith("Z") and "." not in wanted
    zone, found = await (_by_id(planned, wanted) if by_id else _by_name(planned, wanted))
    return [*found, *(await _record(planned, zone) if zone else [])]


async def _by_id(planned: Planned, identity: str) -> tuple[Found | None, list[Finding]]:
    check = f"hosted zone {identity}"
    try:
        asked = await planned.client.call("route53", "get_hosted_zone", Id=identity)
    except Gone:
        cause = f"Route 53 has no hosted zone {identity}"
        return None, [error(check, cause, f"account {planned.identity.account}", "correct `aws.hosted_zone`")]
    zone = asked["HostedZone"]
    if zone.get("Config", {}).get("PrivateZone"):
        return None, [_private(check, zone)]
    name = zone["Name"].rstrip(".")
    if not _holds(name, planned.settings.record):
        cause = f"the zone {name} cannot hold {planned.settings.record}"
        return None, [
            error(check, cause, f"`aws.domain` is not in {name}", "correct `aws.hosted_zone` or `aws.domain`")
        ]
    return zone, []


async def _by_name(planned: Planned, wanted: str) -> tuple[Found | None, list[Finding]]:
    record = planned.settings.record
    listed = await planned.client.listed("route53", "list_hosted_zones", "HostedZones")
    there = [(one["Name"].rstrip("."), one) for one in listed]
    names = [wanted.rstrip(".")] if wanted else _above(record)
    check = f"hosted zone {names[0] if wanted else names[-1]}"
    public = [(name, one) for name, one in there if not one.get("Config", {}).get("PrivateZone")]
    first = next((name for name in names if name in {has for has, _ in public}), "")
    if not first:
        hidden = [one for name, one in there if name in names]
        if hidden:
            return None, [_private(check, hidden[0])]
        evidence = f"the account {planned.identity.account} has: {', '.join(name for name, _ in public) or 'none'}"
        name = names[0] if wanted else planned.settings.section.domain
        create = f"aws route53 create-hosted-zone --name {name} --caller-reference talosmith-1"
        fix = f"correct `aws.hosted_zone`; or create the zone, and delegate the domain to it:\n{create}"
        return None, [error(check, f"Route 53 has no public hosted zone for {record}", evidence, fix)]
    if not _holds(first, record):
        fix = "correct `aws.hosted_zone` or `aws.domain`"
        return None, [error(check, f"the zone {first} cannot hold {record}", f"{record} is not in {first}", fix)]
    same = [one for name, one in public if name == first]
    if len(same) > 1:
        ids = ", ".join(_id(one) for one in same)
        fix = "set `aws.hosted_zone` to the id of the zone that the domain is delegated to"
        return None, [error(check, f"Route 53 has {len(same)} public hosted zones {first}", ids, fix)]
    return same[0], []


def _private(check: str, zone: Found) -> Finding:
    cause = f"the hosted zone {zone['Name'].rstrip('.')} is private: only its own VPCs see its records"
    return error(check, cause, _id(zone), "set `aws.hosted_zone` to a public zone")


async def _record(planned: Planned, zone: Found) -> list[Finding]:
    record, unique = planned.settings.record, planned.settings.marks.unique
    asked = await planned.client.call(
        "route53", "list_resource_record_sets", HostedZoneId=_id(zone), StartRecordName=record, MaxItems="20"
    )
    there = [one for one in asked["ResourceRecordSets"] if one["Name"].rstrip(".") == record]
    targets = {one["Type"]: _target(one) for one in there if one["Type"] in ("A", "AAAA", "CNAME")}
    check, shown = f"DNS record {record}", f"{zone['Name'].rstrip('.')} ({_id(zone)})"
    ours = [text for kind, text in targets.items() if kind == "A" and text.startswith(f"{unique}-")]
    foreign = [f"{kind} {text}" for kind, text in targets.items() if text not in ours]
    if foreign:
        cause = f"{record} exists, and does not point to this cluster's load balancer"
        return [error(check, cause, "; ".join(foreign), "delete the record, or set another `aws.domain`")]
    if ours and not await resolves(record):
        return [await _not_delegated(planned, zone, check)]
    return [ok(check, f"{'this cluster has it' if ours else 'free'} in {shown}")]


async def _not_delegated(planned: Planned, zone: Found, check: str) -> Finding:
    """Only what exists can be resolved: for a new record this cannot be known before."""
    asked = await planned.client.call("route53", "get_hosted_zone", Id=_id(zone))
    servers: Sequence[str] = asked.get("DelegationSet", {}).get("NameServers", ())
    name = zone["Name"].rstrip(".")
    return warning(
        check,
        f"{planned.settings.record} exists in Route 53, and does not resolve on this computer",
        f"name servers of the zone {name}: {', '.join(servers) or 'not known'}",
        f"delegate {name} to these name servers, at its registrar or in the zone above; to compare:\n"
        f"dig +short NS {name}",
    )


async def resolves(name: str) -> bool:
    """A name server that does not answer is not waited for."""
    found: Sequence[Any] = ()
    with suppress(OSError):
        async with limited(_RESOLVES):
            found = await asyncio.get_running_loop().getaddrinfo(name, _PORT)
    return bool(found)


def _target(record: Mapping[str, Any]) -> str:
    alias = str(record.get("AliasTarget", {}).get("DNSName", "")).rstrip(".").lower().removeprefix("dualstack.")
    return alias or ", ".join(one["Value"] for one in record.get("ResourceRecords", ()))


def _above(name: str) -> list[str]:
    """The name itself and those above it, which a zone may have."""
    labels = name.split(".")
    return [".".join(labels[at:]) for at in range(len(labels) - 1)]


def _holds(zone: str, record: str) -> bool:
    return record == zone or record.endswith(f".{zone}")


def _id(zone: Found) -> str:
    return str(zone["Id"]).rpartition("/")[2]
