"""Creating VMs."""

from __future__ import annotations

from typing import Any

from .disks import attach, cloud_init, create_disk, free, import_disk
from .errors import Refused, denied, failed
from .model import VM, Volume
from .power import power_on
from .routing import Call, route
from .schema import Param, Table, boolean, integer, string, vmid
from .tasks import Body, Interrupted, Task, TaskFailed
from .vm_config import Drive, default_boot, drives, nic, nic_text
from .vm_locks import check_quorum
from .vm_options import is_nic, option
from .vm_permissions import NEW_DISK, check_bridges, check_drives, check_options, check_pool
from .world import Proxmox

_EXTRA: dict[str, Param] = {
    "vmid": vmid(),
    "archive": string(),
    "storage": string(),
    "pool": string(),
    "force": boolean(),
    "unique": boolean(),
    "start": boolean(),
    "bwlimit": integer(0),
    "live-restore": boolean(),
    "import-working-storage": string(),
    "ha-managed": boolean(),
}


def options_table(extra: dict[str, Param]) -> Any:
    def table(call: Call) -> Table:
        models = {name for name, _, _ in call.node.cpu_models}
        return Table(extra, lambda name: option(name, models))

    return table


@route("POST", "/nodes/{node}/qemu", options_table(_EXTRA))
def create(call: Call) -> str:
    number = int(call.parameters["vmid"])
    values = {name: value for name, value in call.parameters.items() if name not in _EXTRA}
    check_pool(call)
    pool = call.get("pool")
    if not call.may(f"/vms/{number}", "VM.Allocate") and not (pool and call.may(f"/pool/{pool}", "VM.Allocate")):
        raise denied()
    check_drives(call, number, values)
    check_options(call, number, values, values)
    check_bridges(call, values)
    check_quorum(call)
    prefix = f"unable to create VM {number} - "
    call.lock(number, 5.0, prefix)
    there = call.world.vms.get(number)
    if there:
        raise failed(f"{prefix}VM {number} already exists on node '{there.node}'")
    vm = VM(number, call.node.name, {"lock": "create"}, created=call.world.now())
    call.world.vms[number] = vm
    start = bool(call.get("start"))
    return call.task("qmcreate", number, lambda task: _create(call.world, task, vm, values, pool, start))


def _create(world: Proxmox, task: Task, vm: VM, values: dict[str, Any], pool: str | None, start: bool) -> Body:
    made: list[Volume] = []
    world.flocks.take(vm.vmid)
    try:
        config = dict(values)
        yield world.pace.of("qmcreate")
        yield from _make_drives(world, task, vm, config, made)
        vm.config = _complete(world, config)
    except (TaskFailed, Interrupted, Refused) as problem:
        _undo(world, vm, made)
        why = "received interrupt" if isinstance(problem, Interrupted) else str(problem)
        raise TaskFailed(f"unable to create VM {vm.vmid} - {why}") from problem
    finally:
        world.flocks.give_back(vm.vmid)
    if pool:
        world.pools[pool].vms.add(vm.vmid)
    if start:
        yield from power_on(world, task, vm)


def _make_drives(world: Proxmox, task: Task, vm: VM, config: dict[str, Any], made: list[Volume]) -> Body:
    for one in drives(config):
        yield from make_drive(world, task, vm, one, made)
        config[one.option] = str(one)


def make_drive(world: Proxmox, task: Task, vm: VM, one: Drive, made: list[Volume]) -> Body:
    if one.file.endswith(":cloudinit"):
        cloud_init(world, vm, one)
    elif "import-from" in one.properties:
        yield from import_disk(world, task, vm, one, made)
    elif NEW_DISK.fullmatch(one.file):
        one.properties.pop("size", None)
        yield from create_disk(world, task, vm, one, made)
    else:
        attach(world, vm, one)


def _undo(world: Proxmox, vm: VM, made: list[Volume]) -> None:
    for volume in made:
        free(world, volume)
    world.vms.pop(vm.vmid, None)


def _complete(world: Proxmox, config: dict[str, Any]) -> dict[str, Any]:
    """With MAC addresses, ids and boot order from Proxmox VE."""
    for name in config:
        if is_nic(name):
            parts = nic(str(config[name]))
            config[name] = nic_text(parts if "macaddr" in parts else parts | {"macaddr": world.mac()})
    config.setdefault("boot", default_boot(config))
    config.setdefault("vmgenid", world.uuid())
    smbios = str(config.get("smbios1", ""))
    if "uuid=" not in smbios:
        config["smbios1"] = ",".join(filter(None, (f"uuid={world.uuid()}", smbios)))
    config["meta"] = f"creation-qemu=10.2.1,ctime={int(world.now())}"
    return config
