"""High availability: resources, groups (up to version 8) and rules (from 9 on)."""

from __future__ import annotations

from typing import Any

from .errors import failed, invalid
from .model import HaResource
from .routing import Call, route
from .schema import choice, integer, string

_AUDIT = ("/", "Sys.Audit")
_CHANGE = ("/", "Sys.Console")
_STATES = ("started", "stopped", "enabled", "disabled", "ignored")
_FIELDS = {
    "state": choice(*_STATES),
    "group": string(),
    "comment": string(max_length=4096),
    "max_restart": integer(0),
    "max_relocate": integer(0),
    "failback": string("[01]"),
    "type": choice("vm", "ct"),
}


def _row(resource: HaResource) -> dict[str, Any]:
    view: dict[str, Any] = {"sid": resource.sid, "type": resource.sid.partition(":")[0], "state": resource.state}
    view |= {"max_restart": resource.max_restart, "max_relocate": resource.max_relocate}
    return view | {name: text for name, text in (("group", resource.group), ("comment", resource.comment)) if text}


def _sid(text: str) -> str:
    return text if ":" in text else f"vm:{text}"


@route("GET", "/cluster/ha/resources", {"type": choice("vm", "ct")}, need=_AUDIT)
def resources(call: Call) -> list[dict[str, Any]]:
    return [_row(resource) for resource in call.world.ha.values()]


@route("POST", "/cluster/ha/resources", _FIELDS | {"sid": string(required=True)}, need=_CHANGE)
def add(call: Call) -> None:
    sid = _sid(call.parameters["sid"])
    if sid in call.world.ha:
        raise failed(f"resource ID '{sid}' already defined")
    if int(sid.partition(":")[2]) not in call.world.vms:
        raise failed(f"unable to add resource '{sid}': no such VM")
    call.world.ha[sid] = HaResource(sid)
    _change(call, call.world.ha[sid])


def _change(call: Call, resource: HaResource) -> None:
    for name in ("state", "group", "comment", "max_restart", "max_relocate"):
        if name in call.parameters:
            setattr(resource, name, call.parameters[name])


def _found(call: Call) -> HaResource:
    resource = call.world.ha.get(_sid(call.path["sid"]))
    if resource is None:
        raise failed(f"no such resource '{_sid(call.path['sid'])}'")
    return resource


@route("GET", "/cluster/ha/resources/{sid}", need=_AUDIT)
def resource(call: Call) -> dict[str, Any]:
    return _row(_found(call)) | {"digest": call.world.storage_digest()}


@route("PUT", "/cluster/ha/resources/{sid}", _FIELDS | {"delete": string(), "digest": string()}, need=_CHANGE)
def update(call: Call) -> None:
    _change(call, _found(call))


@route("DELETE", "/cluster/ha/resources/{sid}", {"purge": string("[01]")}, need=_CHANGE)
def remove(call: Call) -> None:
    call.world.ha.pop(_found(call).sid)


@route("GET", "/cluster/ha/groups", need=_AUDIT)
def groups(call: Call) -> list[dict[str, Any]]:
    if call.world.major >= 9 and not call.world.ha_groups:
        raise failed("cannot index groups: ha groups have been migrated to rules")
    return [{"group": name, "type": "group"} | group for name, group in call.world.ha_groups.items()]


@route("GET", "/cluster/ha/rules", {"type": string(), "resource": string()}, need=_AUDIT)
def rules(call: Call) -> list[dict[str, Any]]:
    if call.world.major < 9:
        raise invalid(rules="not implemented")
    return [{"rule": name} | rule for name, rule in call.world.ha_rules.items()]


@route("GET", "/cluster/ha/status/current", need=_AUDIT)
def status(call: Call) -> list[dict[str, Any]]:
    return [
        {"id": "quorum", "type": "quorum", "node": call.local, "quorate": int(call.world.quorate), "status": "OK"}
    ]
