"""Growing disks."""

from __future__ import annotations

from .model import VM
from .routing import Call, route
from .schema import boolean, string
from .tasks import Body, Task, TaskFailed
from .vm_config import drive
from .vm_locks import refuse_skiplock
from .volumes import size_of, size_text
from .world import Proxmox

_RESIZE = {
    "disk": string(
        r"(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5])|efidisk0|tpmstate0)", required=True
    ),
    "size": string(r"\+?\d+(\.\d+)?[KMGT]?", required=True),
    "digest": string(max_length=64),
    "skiplock": boolean(),
}


@route("PUT", "/nodes/{node}/qemu/{vmid}/resize", _RESIZE, need=("/vms/{vmid}", "VM.Config.Disk"))
def resize(call: Call) -> str:
    refuse_skiplock(call)
    vm, name, size = call.vm(), call.parameters["disk"], call.parameters["size"]
    return call.task("resize", vm.vmid, lambda task: _resize(call.world, task, vm, name, size))


def _resize(world: Proxmox, task: Task, vm: VM, name: str, size: str) -> Body:
    yield from world.flocks.wait(task, vm.vmid)
    with world.flocks.held(vm.vmid):
        if vm.lock:
            raise TaskFailed(f"VM is locked ({vm.lock})")
        if name not in vm.config:
            raise TaskFailed(f"disk '{name}' does not exist")
        one = drive(name, str(vm.config[name]))
        volume = world.volumes.find(one.file, vm.node)
        if one.is_cdrom or volume is None:
            raise TaskFailed("you can't resize a cdrom" if one.is_cdrom else f"volume '{one.file}' does not exist")
        yield world.pace.of("resize")
        wanted = size_of(size.removeprefix("+")) + (volume.virtual_size if size.startswith("+") else 0)
        if wanted < volume.virtual_size:
            raise TaskFailed("shrinking disks is not supported")
        volume.virtual_size = wanted
        volume.size = wanted
        one.properties["size"] = size_text(wanted)
        vm.config[name] = str(one)
        if vm.status == "stopped":
            task.say("Image resized.")
