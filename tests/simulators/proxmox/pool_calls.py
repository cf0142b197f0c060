"""Pools of VMs and storages."""

from __future__ import annotations

from typing import Any

from .errors import failed
from .model import Pool
from .routing import Call, route
from .schema import boolean, choice, string
from .vm_views import resource

_ALLOCATE = ("/pool/{poolid}", "Pool.Allocate")
_CHANGE = {
    "comment": string(),
    "vms": string(r"[\d,;\s]*"),
    "storage": string(),
    "delete": boolean(),
    "allow-move": boolean(),
}


@route("GET", "/pools", {"poolid": string(), "type": choice("qemu", "lxc", "storage")})
def pools(call: Call) -> list[dict[str, Any]]:
    wanted = call.get("poolid")
    seen = [pool for pool in call.world.pools.values() if call.may(f"/pool/{pool.id}", "Pool.Audit", "Pool.Allocate")]
    rows = [_row(pool) for pool in seen if wanted in (None, pool.id)]
    return [row | {"members": _members(call, call.world.pools[wanted])} for row in rows] if wanted else rows


def _row(pool: Pool) -> dict[str, Any]:
    return {"poolid": pool.id} | ({"comment": pool.comment} if pool.comment else {})


def _pool(call: Call) -> Pool:
    pool = call.world.pools.get(call.path["poolid"])
    if pool is None:
        raise failed(f"pool '{call.path['poolid']}' does not exist")
    return pool


def _members(call: Call, pool: Pool) -> list[dict[str, Any]]:
    world = call.world
    vms = [resource(world, world.vms[vmid]) for vmid in sorted(pool.vms) if vmid in world.vms]
    storages = [{"id": f"storage/{call.local}/{name}", "storage": name, "type": "storage"} for name in pool.storages]
    return [{name: row[name] for name in row if name != "pool"} for row in [*vms, *storages]]


@route("POST", "/pools", {"poolid": string(required=True), "comment": string()})
def create(call: Call) -> None:
    name = call.parameters["poolid"]
    call.require(f"/pool/{name}", "Pool.Allocate")
    if name in call.world.pools:
        raise failed(f"create pool failed: pool '{name}' already exists")
    call.world.pools[name] = Pool(name, call.get("comment", ""))


@route("GET", "/pools/{poolid}", {"type": choice("qemu", "lxc", "storage")}, need=("/pool/{poolid}", "Pool.Audit"))
def read(call: Call) -> dict[str, Any]:
    pool = _pool(call)
    return _row(pool) | {"members": _members(call, pool)}


@route("PUT", "/pools", _CHANGE | {"poolid": string(required=True)})
def update_named(call: Call) -> None:
    call.path["poolid"] = call.parameters["poolid"]
    call.require(f"/pool/{call.path['poolid']}", "Pool.Allocate")
    update(call)


@route("PUT", "/pools/{poolid}", _CHANGE, need=_ALLOCATE)
def update(call: Call) -> None:
    pool, remove = _pool(call), bool(call.get("delete"))
    for vmid in [int(one) for one in call.get("vms", "").replace(",", " ").replace(";", " ").split()]:
        _move(call, pool, vmid, remove)
    for name in filter(None, call.get("storage", "").split(",")):
        (pool.storages.discard if remove else pool.storages.add)(name)
    pool.comment = call.get("comment", pool.comment)


def _move(call: Call, pool: Pool, vmid: int, remove: bool) -> None:
    call.require(f"/vms/{vmid}", "VM.Allocate")
    if vmid not in call.world.vms:
        raise failed(f"update pools failed: VM {vmid} does not exist")
    if remove:
        if vmid not in pool.vms:
            raise failed(f"update pools failed: VM {vmid} is not a pool member")
        pool.vms.discard(vmid)
        return
    for other in call.world.pools.values():
        if vmid in other.vms:
            if other is pool or not call.get("allow-move"):
                raise failed(f"update pools failed: VM {vmid} belongs already to pool '{other.id}'")
            other.vms.discard(vmid)
    pool.vms.add(vmid)


@route("DELETE", "/pools/{poolid}", need=_ALLOCATE)
def delete(call: Call) -> None:
    pool = _pool(call)
    if pool.vms or pool.storages:
        what = f"VM {min(pool.vms)}" if pool.vms else f"storage {min(pool.storages)}"
        raise failed(f"delete pool failed: pool '{pool.id}' is not empty (contains {what})")
    del call.world.pools[pool.id]
