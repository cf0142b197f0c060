"""Destroying VMs."""

from __future__ import annotations

from .disks import free
from .errors import failed, no_config
from .model import VM
from .routing import Call, route
from .schema import boolean
from .tasks import Body, Task, TaskFailed
from .vm_config import drives
from .vm_locks import check_quorum, refuse_skiplock
from .vm_options import is_drive
from .world import Proxmox

_DESTROY = {"skiplock": boolean(), "purge": boolean(), "destroy-unreferenced-disks": boolean()}


@route("DELETE", "/nodes/{node}/qemu/{vmid}", _DESTROY, need=("/vms/{vmid}", "VM.Allocate"))
def destroy(call: Call) -> str:
    refuse_skiplock(call)
    vm = call.vm()
    check_quorum(call)
    if vm.config.get("protection"):
        raise failed(f"can't remove VM {vm.vmid} - protection mode enabled")
    if f"vm:{vm.vmid}" in call.world.ha and not call.get("purge"):
        raise failed(f"unable to remove VM {vm.vmid} - used in HA resources and purge parameter not set.")
    if vm.status == "running":
        raise failed(f"VM {vm.vmid} is running - destroy failed")
    purge = bool(call.get("purge"))
    unreferenced = bool(call.get("destroy-unreferenced-disks"))
    return call.task("qmdestroy", vm.vmid, lambda task: _destroy(call.world, task, vm, purge, unreferenced))


def _destroy(world: Proxmox, task: Task, vm: VM, purge: bool, unreferenced: bool) -> Body:
    yield from world.flocks.wait(task, vm.vmid)
    with world.flocks.held(vm.vmid):
        if world.vms.get(vm.vmid) is not vm:
            raise TaskFailed(no_config(vm.node, vm.vmid))
        yield world.pace.of("qmdestroy")
        _refuse_destroying(world, vm)
        _remove(world, vm, unreferenced)
    if purge:
        task.say(f"purging VM {vm.vmid} from related configurations..")
        purge_vm(world, vm.vmid)
    world.guests.destroyed(vm)


def _refuse_destroying(world: Proxmox, vm: VM) -> None:
    if vm.lock:
        raise TaskFailed(f"VM is locked ({vm.lock})")
    if vm.status == "running":
        raise TaskFailed(f"VM {vm.vmid} is running - destroy failed")
    volumes = [world.volumes.find(one.file, vm.node) for one in drives(vm.config)]
    for volume in sorted((one for one in volumes if one), key=lambda one: one.format != "qcow2"):
        if world.volumes.clones_of(volume):
            raise TaskFailed(f"base volume '{volume.volid}' is still in use by linked cloned")


def _remove(world: Proxmox, vm: VM, unreferenced: bool) -> None:
    named = {
        str(value).partition(",")[0] for name, value in vm.config.items() if is_drive(name) or name[:6] == "unused"
    }
    for volume in world.volumes.of_vm(vm.vmid, vm.node):
        if volume.content == "images" and (unreferenced or volume.volid in named):
            free(world, volume)
    world.vms.pop(vm.vmid, None)
    for pool in world.pools.values():
        pool.vms.discard(vm.vmid)


def purge_vm(world: Proxmox, number: int) -> None:
    world.access.acls = [acl for acl in world.access.acls if acl.path != f"/vms/{number}"]
    world.ha.pop(f"vm:{number}", None)
