"""Templates."""

from __future__ import annotations

from .errors import failed
from .model import VM
from .routing import Call, route
from .schema import string
from .tasks import Body, Task
from .vm_config import drives
from .vm_locks import config_lock_busy
from .world import Proxmox


@route("POST", "/nodes/{node}/qemu/{vmid}/template", {"disk": string()}, need=("/vms/{vmid}", "VM.Allocate"))
def make_template(call: Call) -> str:
    vm = call.vm()
    config_lock_busy(call, vm)
    if vm.template:
        raise failed("you can't convert a template to a template")
    if vm.status == "running":
        raise failed("you can't convert a VM to template if VM is running")
    return call.task("qmtemplate", vm.vmid, lambda task: _to_template(call.world, task, vm))


def _to_template(world: Proxmox, task: Task, vm: VM) -> Body:
    yield from world.flocks.wait(task, vm.vmid)
    with world.flocks.held(vm.vmid):
        vm.template = True
        yield world.pace.of("qmtemplate")
        for one in drives(vm.config):
            volume = world.volumes.find(one.file, vm.node)
            if volume and volume.content == "images" and not one.is_cdrom:
                head, _, name = volume.volid.rpartition("vm-")
                volume.volid = f"{head}base-{name}"
                one.file = volume.volid
                vm.config[one.option] = str(one)
