"""Calls about the whole cluster: version, nodes and resources, free ids, status."""

from __future__ import annotations

from typing import Any

from .certificate import certificate
from .errors import invalid
from .model import Node, Storage
from .routing import Call, route
from .schema import choice, vmid
from .vm_views import resource


def version_view(call: Call) -> dict[str, str]:
    version = call.world.version
    return {"version": version, "release": ".".join(version.split(".")[:2]), "repoid": "mirror"}


@route("GET", "/version")
def version(call: Call) -> dict[str, str]:
    return version_view(call)


def node_view(call: Call, node: Node) -> dict[str, Any]:
    """The load of a node needs Sys.Audit."""
    view: dict[str, Any] = {"id": f"node/{node.name}", "node": node.name, "type": "node"}
    view |= {"status": "online" if node.online else "offline"}
    if not node.online:
        return view
    view["level"] = ""
    if call.may(f"/nodes/{node.name}", "Sys.Audit"):
        view |= {"cpu": 0.25, "maxcpu": node.cpus, "mem": node.memory_used, "maxmem": node.memory_total}
        view |= {"disk": node.disk_used, "maxdisk": node.disk_total, "uptime": int(call.world.now() - node.booted)}
    return view


@route("GET", "/nodes")
def nodes(call: Call) -> list[dict[str, Any]]:
    fingerprint = {"ssl_fingerprint": certificate().fingerprint}
    return [node_view(call, node) | fingerprint for node in call.world.nodes.values()]


@route("GET", "/cluster/resources", {"type": choice("vm", "storage", "node", "sdn", "network")})
def resources(call: Call) -> list[dict[str, Any]]:
    wanted = call.get("type")
    rows: list[dict[str, Any]] = []
    if wanted in (None, "vm"):
        rows += _vms(call)
    if wanted in (None, "node"):
        rows += [node_view(call, node) for node in call.world.nodes.values()]
    if wanted in (None, "storage"):
        rows += _storages(call)
    return rows


def _vms(call: Call) -> list[dict[str, Any]]:
    world = call.world
    listed = [vm for vm in world.vms.values() if world.now() - vm.created >= world.list_delay]
    return [resource(world, vm) for vm in listed if call.may(f"/vms/{vm.vmid}", "VM.Audit")]


def _storages(call: Call) -> list[dict[str, Any]]:
    return [
        _storage_row(storage, node)
        for node in call.world.nodes.values()
        for storage in call.world.storages.values()
        if storage.enabled and storage.on(node.name) and call.may(f"/storage/{storage.name}", "Datastore.Audit")
    ]


def _storage_row(storage: Storage, node: Node) -> dict[str, Any]:
    view: dict[str, Any] = {"id": f"storage/{node.name}/{storage.name}", "type": "storage", "node": node.name}
    view |= {"storage": storage.name, "plugintype": storage.type, "content": ",".join(sorted(storage.content))}
    view |= {"shared": int(storage.shared), "status": "available" if storage.active and node.online else "unknown"}
    return view | ({"disk": storage.used, "maxdisk": storage.total} if storage.active else {})


@route("GET", "/cluster/nextid", {"vmid": vmid(required=False)})
def next_id(call: Call) -> str:
    wanted = call.get("vmid")
    if wanted is not None:
        if int(wanted) in call.world.vms:
            raise invalid(vmid=f"VM {wanted} already exists")
        return str(wanted)
    number = 100
    while number in call.world.vms:
        number += 1
    return str(number)


@route("GET", "/cluster/status", need=("/", "Sys.Audit"))
def status(call: Call) -> list[dict[str, Any]]:
    world = call.world
    alone = len(world.nodes) == 1
    rows: list[dict[str, Any]] = [
        {
            "id": f"node/{node.name}",
            "type": "node",
            "name": node.name,
            "nodeid": 0 if alone else number,
            "ip": node.ip,
            "level": "",
            "local": int(node.name == call.local),
            "online": int(node.online),
        }
        for number, node in enumerate(world.nodes.values(), 1)
    ]
    if alone:
        return rows
    cluster = {"id": "cluster", "type": "cluster", "name": "simulated", "version": 2}
    return [cluster | {"nodes": len(rows), "quorate": int(world.quorate)}, *rows]


@route("GET", "/cluster/options", need=("/", "Sys.Audit"))
def options(call: Call) -> dict[str, Any]:
    return {"keyboard": "en-us"}


@route("GET", "/cluster/tasks")
def tasks(call: Call) -> list[dict[str, Any]]:
    found = list(reversed(call.world.tasks.all.values()))
    own = [task for task in found if task.user == call.who.id or call.may(f"/nodes/{task.node}", "Sys.Audit")]
    rows = [task.view() | ({} if task.running else {"endtime": task.ended, "status": task.exit}) for task in own]
    return rows[:25]
