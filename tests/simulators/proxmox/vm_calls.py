"""Reading VMs: lists, config, pending changes, status."""

from __future__ import annotations

from typing import Any

from .routing import Call, route
from .schema import boolean, string
from .vm_config import pending_rows, shown
from .vm_views import current, row

_AUDIT = ("/vms/{vmid}", "VM.Audit")


@route("GET", "/nodes/{node}/qemu", {"full": boolean()}, protected=True)
def vms(call: Call) -> list[dict[str, Any]]:
    found = [vm for vm in call.world.vms.values() if vm.node == call.node.name]
    return [row(call.world, vm) for vm in found if call.may(f"/vms/{vm.vmid}", "VM.Audit")]


@route("GET", "/nodes/{node}/qemu/{vmid}", need=_AUDIT)
def index(call: Call) -> list[dict[str, str]]:
    return [{"subdir": name} for name in ("config", "pending", "status", "clone", "agent", "template", "resize")]


@route("GET", "/nodes/{node}/qemu/{vmid}/config", {"current": boolean(), "snapshot": string()}, need=_AUDIT)
def config(call: Call) -> dict[str, Any]:
    return shown(call.vm(), bool(call.get("current")))


@route("GET", "/nodes/{node}/qemu/{vmid}/pending", need=_AUDIT)
def pending(call: Call) -> list[dict[str, Any]]:
    return pending_rows(call.vm())


@route("GET", "/nodes/{node}/qemu/{vmid}/status/current", need=_AUDIT, protected=True)
def status(call: Call) -> dict[str, Any]:
    return current(call.world, call.vm())


@route("GET", "/nodes/{node}/qemu/{vmid}/snapshot", need=_AUDIT)
def snapshots(call: Call) -> list[dict[str, Any]]:
    vm = call.vm()
    return [
        {
            "name": "current",
            "digest": shown(vm)["digest"],
            "description": "You are here!",
            "running": int(vm.status == "running"),
        }
    ]
