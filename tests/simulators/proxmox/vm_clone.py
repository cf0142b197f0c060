"""Clones: linked to a template, or whole."""

from __future__ import annotations

from typing import Any

from .disks import NoRoom, allocate, copy, formatting, free
from .errors import failed
from .model import VM, Storage, Volume
from .routing import Call, route
from .schema import boolean, choice, dns_name, integer, string, vmid
from .tasks import Body, Interrupted, Task, TaskFailed
from .vm_config import Drive, drives, nic, nic_text
from .vm_locks import check_quorum
from .vm_options import is_nic
from .vm_permissions import check_bridges, check_pool, check_space
from .volumes import size_text
from .world import Proxmox

_DROPPED = ("lock", "template", "protection", "parent", "vmstate", "snaptime")


_CLONE = {
    "newid": vmid(),
    "name": dns_name(),
    "description": string(),
    "full": boolean(),
    "storage": string(),
    "format": choice("raw", "qcow2", "vmdk"),
    "pool": string(),
    "target": string(),
    "snapname": string(max_length=40),
    "bwlimit": integer(0),
}


@route("POST", "/nodes/{node}/qemu/{vmid}/clone", _CLONE, need=("/vms/{vmid}", "VM.Clone"))
def clone(call: Call) -> str:
    world, new = call.world, int(call.parameters["newid"])
    _check(call, new)
    source = world.vms.get(call.vmid)
    if source is None or source.node != call.node.name:
        raise failed(f"unable to find configuration file for VM {call.vmid} on node '{call.node.name}'")
    full = bool(call.get("full", 0 if source.template else 1))
    storage = _storage(call, full)
    if source.lock:
        raise failed(f"VM is locked ({source.lock})")
    if new in world.vms:
        raise failed(f"unable to create VM {new}: config file already exists")
    call.lock(new)
    copied = _disks(call, source, full, storage)
    check_bridges(call, source.config)
    vm = VM(new, call.get("target", source.node), {"lock": "clone", "description": " qmclone temporary file"})
    vm.created = world.now()
    world.vms[new] = vm
    job = _Clone(world, source, vm, full, storage, call.get("format"), call.get("bwlimit"), copied)
    changes: dict[str, Any] = {name: call.get(name) for name in ("name", "description") if call.get(name) is not None}
    return call.task("qmclone", source.vmid, lambda task: job.run(task, changes, call.get("pool")))


def _check(call: Call, new: int) -> None:
    check_pool(call)
    pool = call.get("pool")
    if not (pool and call.may(f"/pool/{pool}", "VM.Allocate")):
        call.require(f"/vms/{new}", "VM.Allocate")
    check_quorum(call)
    target = call.get("target")
    if target is not None and target not in call.world.nodes:
        raise failed(f"no such cluster node '{target}'")


def _storage(call: Call, full: bool) -> Storage | None:
    for name in ("storage", "format"):
        if name in call.parameters and not full:
            raise failed(f"parameter '{name}' not allowed for linked clones")
    return check_space(call, call.parameters["storage"]) if "storage" in call.parameters else None


def _disks(call: Call, source: VM, full: bool, storage: Storage | None) -> list[Drive]:
    found = []
    for one in drives(source.config):
        volume = call.world.volumes.find(one.file, source.node)
        if one.is_cdrom or volume is None:
            continue
        if not call.world.storages[volume.storage].shared and call.get("target", source.node) != source.node:
            raise failed(f"can't clone VM to node '{call.get('target')}' (VM uses local storage)")
        if not full and not volume.is_base:
            raise failed(f"Linked clone feature is not supported for '{volume.volid}' ({one.option})")
        if storage is None:
            call.require(f"/storage/{volume.storage}", "Datastore.AllocateSpace")
        found.append(one)
    return found


class _Clone:
    def __init__(
        self,
        world: Proxmox,
        source: VM,
        vm: VM,
        full: bool,
        storage: Storage | None,
        format_: str | None,
        limit: int | None,
        disks: list[Drive],
    ) -> None:
        self.world, self.source, self.vm, self.full = world, source, vm, full
        self.storage, self.format, self.limit, self.disks = storage, format_, limit, disks
        self.made: list[Volume] = []

    def run(self, task: Task, changes: dict[str, Any], pool: str | None) -> Body:
        world, vm = self.world, self.vm
        alone = self.source.status == "running"
        world.flocks.take(vm.vmid)
        try:
            yield from world.flocks.wait(task, self.source.vmid, alone)
            with world.flocks.held(self.source.vmid, alone):
                task.say(f"creating a clone of VM {self.source.vmid} with ID {vm.vmid}")
                yield 0.1
                vm.config = self._config(changes)
                for one in self.disks:
                    yield from self._copy(task, one)
                    vm.config[one.option] = str(one)
                vm.lock = None
        except (Interrupted, TaskFailed, NoRoom) as problem:
            self._undo()
            why = {Interrupted: "interrupted by signal", NoRoom: "copy failed: No space left on device"}
            raise TaskFailed("clone failed: " + why.get(type(problem), str(problem))) from problem
        finally:
            world.flocks.give_back(vm.vmid)
        if pool:
            world.pools[pool].vms.add(vm.vmid)

    def _undo(self) -> None:
        for volume in self.made:
            free(self.world, volume)
        self.world.vms.pop(self.vm.vmid, None)

    def _config(self, changes: dict[str, Any]) -> dict[str, Any]:
        """All but the disks, with new ids and addresses; tags and description of the source."""
        source = self.source.config
        copied = {one.option for one in self.disks}
        config = {name: source[name] for name in source if name not in _DROPPED and name not in copied}
        config = {name: value for name, value in config.items() if not name.startswith("unused")}
        for name in config:
            if is_nic(name):
                config[name] = nic_text(nic(str(config[name])) | {"macaddr": self.world.mac()})
        others = str(source.get("smbios1", "")).split(",")
        config["smbios1"] = ",".join(
            [f"uuid={self.world.uuid()}", *(one for one in others if one and one[:5] != "uuid=")]
        )
        config["vmgenid"] = self.world.uuid()
        config.setdefault("name", f"Copy-of-VM-{source.get('name', self.source.vmid)}")
        if "name" not in changes:
            config["name"] = f"Copy-of-VM-{source.get('name', self.source.vmid)}"
        return config | changes | {"lock": "clone"}

    def _copy(self, task: Task, one: Drive) -> Body:
        world = self.world
        base = world.volumes.find(one.file, self.source.node)
        assert base
        if not self.full:
            yield from self._link(task, one, base)
            return
        task.say(f"create full clone of drive {one.option} ({base.volid})")
        storage = self.storage or world.storages[base.storage]
        volume = allocate(world, self.vm.node, storage, self.vm.vmid, base.virtual_size, self.format or base.format)
        volume.origin = base
        self.made.append(volume)
        task.say(formatting(world, volume), f"allocated target volume '{volume.volid}'")
        yield world.pace.of("full clone")
        if one.option != "efidisk0":
            yield from self._transfer(task, volume, base)
        one.file, one.properties["size"] = volume.volid, size_text(volume.virtual_size)

    def _transfer(self, task: Task, volume: Volume, base: Volume) -> Body:
        limit = self.world.storages[volume.storage].bandwidth
        if self.limit:
            self.world.storages[volume.storage].bandwidth = self.limit
        try:
            yield from copy(self.world, task, volume, base.used, base.virtual_size)
        finally:
            self.world.storages[volume.storage].bandwidth = limit

    def _link(self, task: Task, one: Drive, base: Volume) -> Body:
        world = self.world
        storage = world.storages[base.storage]
        volume = allocate(world, self.vm.node, storage, self.vm.vmid, base.virtual_size, "qcow2")
        name = volume.name
        volume.parent = base
        volume.volid = f"{base.volid}/{name}"
        self.made.append(volume)
        task.say(f"create linked clone of drive {one.option} ({base.volid})")
        if storage.keeps_files:
            file = name.rpartition("/")[2]
            task.say(f"clone {base.name}: images, {file}, {self.vm.vmid} to {file} (base=../{base.name})")
        task.say(formatting(world, volume, base))
        yield world.pace.of("linked clone")
        one.file, one.properties["size"] = volume.volid, size_text(volume.virtual_size)
