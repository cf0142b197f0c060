"""How VMs come to be running and stopped, as parts of tasks."""

from __future__ import annotations

from collections.abc import Callable

from .errors import no_config
from .model import VM
from .tasks import Body, Task, TaskFailed
from .vm_config import drives
from .vm_views import agent_configured, memory, missing_bridge
from .world import Proxmox

_NO_KVM = "KVM virtualisation configured, but not available. Either disable in VM configuration or enable in BIOS."


def power_on(world: Proxmox, task: Task, vm: VM) -> Body:
    """The lock file is held by the caller, or not needed."""
    _refuse_starting(world, task, vm)
    yield world.pace.of("qmstart")
    apply_pending(vm)
    vm.status, vm.started, vm.pid = "running", world.now(), world.tasks.next_pid()
    try:
        world.guests.started(vm)
    except Exception as problem:
        vm.status = "stopped"
        raise TaskFailed(f"start failed: {problem}") from problem


def _refuse_starting(world: Proxmox, task: Task, vm: VM) -> None:
    if vm.template:
        raise TaskFailed("you can't start a vm if it's a template")
    if vm.lock:
        raise TaskFailed(f"VM is locked ({vm.lock})")
    if vm.status == "running":
        raise TaskFailed(f"VM {vm.vmid} already running")
    node = world.nodes[vm.node]
    config = vm.config | vm.pending
    if config.get("kvm", 1) and not node.kvm:
        raise TaskFailed(_NO_KVM)
    if int(config.get("cores", 1)) * int(config.get("sockets", 1)) > node.cpus:
        raise TaskFailed(f"MAX {node.cpus} vcpus allowed per VM on this node")
    for one in drives(config):
        if one.file not in ("none", "cdrom") and world.volumes.find(one.file, vm.node) is None:
            raise TaskFailed(f"volume '{one.file}' does not exist")
        if (
            one.properties.get("iothread") == "1"
            and config.get("scsihw") != "virtio-scsi-single"
            and "scsi" in one.option
        ):
            task.warn("iothread is only valid with virtio disk or virtio-scsi-single controller, ignoring")
    bridge = missing_bridge(world, vm, config)
    if bridge:
        raise TaskFailed(f"bridge '{bridge}' does not exist")
    if memory(config) > node.memory_available:
        raise TaskFailed(
            "start failed: QEMU exited with code 1: cannot set up guest memory 'pc.ram': Cannot allocate memory"
        )


def power_off(world: Proxmox, vm: VM) -> None:
    if vm.status == "running":
        vm.status, vm.paused, vm.agent_running = "stopped", False, False
        apply_pending(vm)
        world.guests.stopped(vm)


def apply_pending(vm: VM) -> None:
    for name in vm.pending_delete:
        vm.config.pop(name, None)
    vm.config |= vm.pending
    vm.pending.clear()
    vm.pending_delete.clear()


def with_lock(world: Proxmox, task: Task, node: str, number: int, then: Callable[[VM], Body]) -> Body:
    """With the lock file of a VM that must be there."""
    yield from world.flocks.wait(task, number)
    with world.flocks.held(number):
        vm = world.vms.get(number)
        if vm is None or vm.node != node:
            raise TaskFailed(no_config(node, number))
        yield from then(vm)


def _runs(vm: VM) -> bool:
    return vm.status == "running"


def shut_down(world: Proxmox, task: Task, vm: VM, seconds: float, force: bool = False) -> Body:
    """A guest whose agent is configured and does not answer hangs until the time is out."""
    if not _runs(vm):
        return
    if vm.lock:
        raise TaskFailed(f"VM is locked ({vm.lock})")
    agent = agent_configured(vm)
    if agent and not vm.agent_running:
        task.say(f"QEMU Guest Agent is not running - VM {vm.vmid} qga command 'guest-ping' failed - got timeout")
    elif vm.obeys_shutdown and not vm.paused:
        yield min(world.pace.of("guest shutdown"), seconds)
        power_off(world, vm)
        return
    yield seconds
    if not _runs(vm):  # in the meantime the guest has powered off by itself
        return
    if not force:
        raise TaskFailed("VM quit/powerdown failed - got timeout")
    task.say("VM still running - terminating now with SIGTERM")
    yield world.pace.of("qmstop")
    power_off(world, vm)
