"""Records of Route 53: a change that does not fit what exists is refused as a whole. moto lets most of them pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .backends import route53_of
from .calls import Call
from .errors import AwsError
from .hooks import after, before

if TYPE_CHECKING:
    from .world import Cloud

Values = tuple[Any, ...]


@before("route53", "CreateHostedZone")
def check_reference(cloud: Cloud, call: Call) -> None:
    for zone in route53_of(call).zones.values():
        if zone.caller_reference == call.params["CallerReference"]:
            text = "A hosted zone has already been created with the specified caller reference."
            raise AwsError("HostedZoneAlreadyExists", text, 409)


@before("route53", "ChangeResourceRecordSets")
def check_changes(cloud: Cloud, call: Call) -> None:
    zone = _zone(call)
    if zone is None:
        return  # moto refuses it
    known = {_key(one.name, one.type, one.set_identifier): _existing(one) for one in zone.rrsets}
    problems = []
    for change in call.params["ChangeBatch"]["Changes"]:
        wanted = change["ResourceRecordSet"]
        key = _key(wanted["Name"], wanted["Type"], wanted.get("SetIdentifier"))
        what = f"resource record set [name='{key[0]}.', type='{key[1]}']"
        if change["Action"] == "CREATE" and key in known:
            problems.append(f"Tried to create {what} but it already exists")
        elif change["Action"] == "DELETE" and key not in known:
            problems.append(f"Tried to delete {what} but it was not found")
        elif change["Action"] == "DELETE" and known[key] != _values(wanted):
            problems.append(f"Tried to delete {what} but the values provided do not match the current values")
        elif change["Action"] == "DELETE":
            del known[key]
        else:
            known[key] = _values(wanted)
    if problems:
        raise AwsError("InvalidChangeBatch", f"[{', '.join(problems)}]")


@after("route53", "ChangeResourceRecordSets")
def complete_names(cloud: Cloud, call: Call) -> None:
    """Route 53 answers with names that end in a dot."""
    for one in _zone(call).rrsets:
        if one.alias_target:
            one.alias_target["DNSName"] = one.alias_target["DNSName"].rstrip(".").lower() + "."


def _zone(call: Call) -> Any:
    name = str(call.params["HostedZoneId"]).rpartition("/")[2]
    return next((zone for zone in route53_of(call).zones.values() if zone.resource_id == name), None)


def _key(name: str, kind: str, identifier: str | None) -> tuple[str, str, str]:
    return (name.rstrip(".").lower(), kind, identifier or "")


def _existing(record: Any) -> Values:
    return (_alias(record.alias_target), str(record.ttl or ""), sorted(map(str, record.records or ())))


def _values(wanted: Mapping[str, Any]) -> Values:
    records = sorted(str(one["Value"]) for one in wanted.get("ResourceRecords", ()))
    return (_alias(wanted.get("AliasTarget")), str(wanted.get("TTL", "")), records)


def _alias(target: Mapping[str, Any] | None) -> Values:
    if not target:
        return ()
    health = str(target.get("EvaluateTargetHealth", "")).lower()
    return (target["HostedZoneId"], target["DNSName"].rstrip(".").lower(), health)
