"""Storages and volumes."""

from __future__ import annotations

from typing import Any

from .disks import free
from .errors import failed, invalid
from .model import Storage, Volume
from .routing import Call, route
from .schema import Param, boolean, integer, string, vmid
from .tasks import Body, Task, TaskFailed
from .volumes import file_path

_SEE = ("Datastore.Audit", "Datastore.AllocateSpace")


def row(storage: Storage) -> dict[str, Any]:
    view: dict[str, Any] = {
        "storage": storage.name,
        "type": storage.type,
        "content": ",".join(sorted(storage.content)),
    }
    view |= {"enabled": int(storage.enabled), "active": int(storage.active and storage.enabled)}
    view |= {"shared": int(storage.shared)}
    if not (storage.active and storage.enabled):
        return view | {"total": 0, "used": 0, "avail": 0}
    share = storage.used / storage.total if storage.total else 0
    return view | {"total": storage.total, "used": storage.used, "avail": storage.avail, "used_fraction": share}


_LIST: dict[str, Param] = {
    "content": string(),
    "enabled": boolean(),
    "storage": string(),
    "target": string(),
    "format": boolean(),
}


@route("GET", "/nodes/{node}/storage", _LIST, protected=True)
def storages(call: Call) -> list[dict[str, Any]]:
    wanted = set(filter(None, str(call.get("content", "")).split(",")))
    return [
        row(storage)
        for storage in call.world.storages.values()
        if call.may(f"/storage/{storage.name}", *_SEE)
        and storage.on(call.node.name)
        and call.get("storage") in (None, storage.name)
        and (not wanted or wanted & storage.content)
        and (storage.enabled or not call.get("enabled"))
    ]


@route("GET", "/nodes/{node}/storage/{storage}/status", need=("/storage/{storage}", *_SEE), protected=True)
def status(call: Call) -> dict[str, Any]:
    storage = call.world.storages.get(call.path["storage"])
    if storage is None or not storage.on(call.node.name):
        raise invalid(storage="No such storage.")
    view = row(storage)
    view.pop("storage")
    view.pop("used_fraction", None)
    return view


@route(
    "GET",
    "/nodes/{node}/storage/{storage}/content",
    {"content": string(), "vmid": vmid(required=False)},
    need=("/storage/{storage}", *_SEE),
    protected=True,
)
def content(call: Call) -> list[dict[str, Any]]:
    storage = call.storage()
    if not storage.active:
        raise failed(f"storage '{storage.name}' is not online")
    return [
        _volume_row(volume)
        for volume in call.world.volumes.on(storage.name, call.node.name)
        if call.get("content") in (None, volume.content)
        and call.get("vmid") in (None, str(volume.vmid))
        and _visible(call, volume)
    ]


def _visible(call: Call, volume: Volume) -> bool:
    """Disks of VMs that a caller may not see are left out, unless the storage is the caller's."""
    if volume.vmid is None or call.may(f"/storage/{volume.storage}", "Datastore.Allocate"):
        return True
    return call.may(f"/vms/{volume.vmid}", "VM.Config.Disk" if volume.content == "images" else "VM.Backup")


def _volume_row(volume: Volume) -> dict[str, Any]:
    view: dict[str, Any] = {"volid": volume.volid, "content": volume.content, "format": volume.format}
    view |= {"ctime": volume.ctime, "size": volume.virtual_size if volume.content == "images" else volume.size}
    if volume.content == "images":
        parent = f"../{volume.parent.name}" if volume.parent else None
        view |= {"vmid": volume.vmid, "used": volume.used, "parent": parent}
    if volume.content == "backup":
        view |= {"vmid": volume.vmid, "subtype": "qemu"}
    return view


def _named(call: Call) -> str:
    """The storage's name may be left out."""
    given = call.path["volume"]
    name = given if ":" in given else f"{call.path['storage']}:{given}"
    if name.partition(":")[0] != call.path["storage"]:
        raise failed(f"storage ID missmatch ({name.partition(':')[0]} != {call.path['storage']})")
    return name


@route("GET", "/nodes/{node}/storage/{storage}/content/{volume}", protected=True)
def volume_attributes(call: Call) -> dict[str, Any]:
    volid = _named(call)
    call.require(f"/storage/{call.path['storage']}", *_SEE)
    storage = call.storage()
    volume = call.world.volumes.find(volid, call.node.name)
    if volume is None:
        raise failed(f"volume_size_info on '{volid}' failed")
    format_ = "raw" if volume.format == "iso" else volume.format
    size = volume.virtual_size or volume.size
    return {
        "path": file_path(storage, volume.name),
        "size": size,
        "used": volume.used or volume.size,
        "format": format_,
    }


@route("DELETE", "/nodes/{node}/storage/{storage}/content/{volume}", {"delay": integer(1, 30)})
def delete(call: Call) -> str:
    volid = _named(call)
    storage = call.storage()
    volume = call.world.volumes.find(volid, call.node.name)
    owner = volume.vmid if volume and volume.content == "images" else None
    if owner is None or not call.may(f"/vms/{owner}", "VM.Config.Disk"):
        call.require(f"/storage/{storage.name}", "Datastore.Allocate")
    elif not call.may(f"/storage/{storage.name}", "Datastore.Allocate"):
        call.require(f"/storage/{storage.name}", "Datastore.AllocateSpace")
    return call.task("imgdel", storage.name, lambda task: _delete(call, task, storage, volid))


def _delete(call: Call, task: Task, storage: Storage, volid: str) -> Body:
    yield call.world.pace.of("imgdel")
    volume = call.world.volumes.find(volid, call.node.name)
    if volume is None:
        task.say(f"disk image '{file_path(storage, volid.partition(':')[2])}' does not exist")
    elif call.world.volumes.clones_of(volume):
        raise TaskFailed(f"base volume '{volume.volid}' is still in use by linked cloned")
    else:
        free(call.world, volume)
    task.say(f"Removed volume '{volid}'")


@route("GET", "/storage", {"type": string()})
def configs(call: Call) -> list[dict[str, Any]]:
    found = [one for one in call.world.storages.values() if call.may(f"/storage/{one.name}", *_SEE)]
    return [_config(call, storage) for storage in found]


@route("GET", "/storage/{storage}", need=("/storage/{storage}", "Datastore.Allocate"))
def config(call: Call) -> dict[str, Any]:
    storage = call.world.storages.get(call.path["storage"])
    if storage is None:
        raise failed(f"storage '{call.path['storage']}' does not exist")
    return _config(call, storage)


def _config(call: Call, storage: Storage) -> dict[str, Any]:
    view: dict[str, Any] = {
        "storage": storage.name,
        "type": storage.type,
        "content": ",".join(sorted(storage.content)),
    }
    view["digest"] = call.world.storage_digest()
    view |= {"path": storage.path} if storage.path else {}
    view |= {"thinpool": "data", "vgname": "pve"} if storage.type == "lvmthin" else {}
    view |= {"bwlimit": f"clone={storage.bandwidth},default={storage.bandwidth}"} if storage.bandwidth else {}
    view |= {"nodes": ",".join(sorted(storage.nodes))} if storage.nodes is not None else {}
    view |= {"shared": 1} if storage.shared else {}
    return view | ({} if storage.enabled else {"disable": 1})
