"""The guest agent: not configured, not running, or answering for the guest."""

from __future__ import annotations

from typing import Any

from .errors import Refused, failed
from .privileges import agent_privileges
from .routing import Call, Need, route
from .vm_views import agent_configured

_NEED = Need("/vms/{vmid}", lambda world: agent_privileges(world.major))


def _ask(call: Call) -> None:
    vm = call.vm()
    if not agent_configured(vm):
        raise failed("No QEMU guest agent configured")
    if vm.status != "running":
        raise failed(f"VM {vm.vmid} is not running")
    if not vm.agent_running:
        raise Refused(500, "QEMU guest agent is not running", seconds=3.0)


@route("POST", "/nodes/{node}/qemu/{vmid}/agent/ping", need=_NEED)
def ping(call: Call) -> dict[str, Any]:
    _ask(call)
    return {"result": {}}


@route("GET", "/nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", need=_NEED, protected=True)
def interfaces(call: Call) -> dict[str, Any]:
    _ask(call)
    return {"result": call.vm().interfaces}


@route("GET", "/nodes/{node}/qemu/{vmid}/agent/get-osinfo", need=_NEED, protected=True)
def os_info(call: Call) -> dict[str, Any]:
    _ask(call)
    return {"result": {"id": "talos", "name": "Talos", "machine": "x86_64", "kernel-release": "6.12.0-talos"}}
