"""Power: start, stop, shutdown, reboot, reset, suspend, resume.

A reboot's task ends as soon as the VM is down; another one, of root, starts the VM a moment later.
"""

from __future__ import annotations

from .errors import failed
from .ha_power import by_manager
from .model import VM
from .power import power_off, power_on, shut_down, with_lock
from .routing import Call, route
from .schema import boolean, integer, string
from .tasks import Body, Interrupted, Task, TaskFailed
from .vm_locks import refuse_skiplock
from .world import Proxmox

_POWER = ("/vms/{vmid}", "VM.PowerMgmt")
_DEFAULT_SHUTDOWN = 180
_START = {
    "skiplock": boolean(),
    "machine": string(),
    "timeout": integer(0),
    "force-cpu": string(),
    "stateuri": string(),
    "targetstorage": string(),
    "migratedfrom": string(),
}


@route("POST", "/nodes/{node}/qemu/{vmid}/status/start", _START, need=_POWER)
def start(call: Call) -> str:
    refuse_skiplock(call)
    world, node, number = call.world, call.node.name, call.vmid
    return by_manager(call, "started") or call.task(
        "qmstart",
        number,
        lambda task: with_lock(world, task, node, number, lambda vm: power_on(world, task, vm)),
    )


_STOP = {"skiplock": boolean(), "timeout": integer(0), "keepActive": boolean(), "overrule-shutdown": boolean()}


@route("POST", "/nodes/{node}/qemu/{vmid}/status/stop", _STOP | {"migratedfrom": string()}, need=_POWER)
def stop(call: Call) -> str:
    refuse_skiplock(call)
    world, node, number = call.world, call.node.name, call.vmid
    overrule = bool(call.get("overrule-shutdown"))
    managed = by_manager(call, "stopped")
    return managed or call.task("qmstop", number, lambda task: _stop(world, task, node, number, overrule))


def _stop(world: Proxmox, task: Task, node: str, number: int, overrule: bool) -> Body:
    if overrule:
        for other in world.tasks.active(node, number):
            if other.type == "qmshutdown":
                world.tasks.cancel(other)
    if number not in world.vms:
        raise TaskFailed(f"unable to find configuration file for VM {number} on node '{node}'")

    def then(vm: VM) -> Body:
        if vm.status == "running":
            if vm.lock:
                raise TaskFailed(f"VM is locked ({vm.lock})")
            yield world.pace.of("qmstop")
            power_off(world, vm)

    yield from with_lock(world, task, node, number, then)


_SHUTDOWN = {"skiplock": boolean(), "timeout": integer(0), "forceStop": boolean(), "keepActive": boolean()}


@route("POST", "/nodes/{node}/qemu/{vmid}/status/shutdown", _SHUTDOWN, need=_POWER)
def shutdown(call: Call) -> str:
    refuse_skiplock(call)
    world, node, number = call.world, call.node.name, call.vmid
    seconds = call.get("timeout", _DEFAULT_SHUTDOWN)
    force = bool(call.get("forceStop"))
    return by_manager(call, "stopped") or call.task(
        "qmshutdown",
        number,
        lambda task: with_lock(world, task, node, number, lambda vm: shut_down(world, task, vm, seconds, force)),
    )


@route("POST", "/nodes/{node}/qemu/{vmid}/status/reboot", {"timeout": integer(0)}, need=_POWER)
def reboot(call: Call) -> str:
    vm = call.vm()
    if vm.status != "running":
        raise failed(f"VM {vm.vmid} not running")
    world, node, number = call.world, call.node.name, call.vmid
    seconds = call.get("timeout", _DEFAULT_SHUTDOWN)
    return call.task("qmreboot", number, lambda task: _reboot(world, task, node, number, seconds))


def _reboot(world: Proxmox, task: Task, node: str, number: int, seconds: float) -> Body:
    try:
        yield from with_lock(world, task, node, number, lambda vm: shut_down(world, task, vm, seconds))
    except Interrupted:
        raise TaskFailed("interrupted by signal") from None
    world.agenda.after(world.pace.of("reboot gap") * world.pace.scale, lambda: _back(world, node, number))


def _back(world: Proxmox, node: str, number: int) -> None:
    if number in world.vms:
        world.tasks.start(
            node,
            "qmstart",
            str(number),
            "root@pam",
            lambda task: with_lock(world, task, node, number, lambda vm: power_on(world, task, vm)),
        )


@route("POST", "/nodes/{node}/qemu/{vmid}/status/reset", {"skiplock": boolean()}, need=_POWER)
def reset(call: Call) -> str:
    vm = call.vm()
    if vm.status != "running":
        raise failed(f"VM {vm.vmid} not running")

    def body(task: Task) -> Body:
        if vm.lock:
            raise TaskFailed(f"VM is locked ({vm.lock})")
        yield 0.1
        call.world.guests.stopped(vm)
        call.world.guests.started(vm)

    return call.task("qmreset", vm.vmid, body)


@route(
    "POST",
    "/nodes/{node}/qemu/{vmid}/status/suspend",
    {"skiplock": boolean(), "todisk": boolean(), "statestorage": string()},
    need=_POWER,
)
def suspend(call: Call) -> str:
    return _pause(call, "qmpause", True)


@route("POST", "/nodes/{node}/qemu/{vmid}/status/resume", {"skiplock": boolean(), "nocheck": boolean()}, need=_POWER)
def resume(call: Call) -> str:
    return _pause(call, "qmresume", False)


def _pause(call: Call, kind: str, paused: bool) -> str:
    vm = call.vm()
    if vm.status != "running":
        raise failed(f"VM {vm.vmid} not running")

    def body(task: Task) -> Body:
        yield 0.1
        vm.paused = paused

    return call.task(kind, vm.vmid, body)
