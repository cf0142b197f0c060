"""Power of VMs under high availability: the request only notes what is wanted, the HA manager acts a moment later."""

from __future__ import annotations

from .power import power_on, shut_down, with_lock
from .routing import Call
from .tasks import Body, Task
from .world import Proxmox

_MANAGER_ROUND = 5.0  # seconds until the HA manager acts
_STOP_TIMEOUT = 60.0


def by_manager(call: Call, wanted: str) -> str | None:
    """The task that asks the HA manager for `started` or `stopped`; nothing for a VM without high availability."""
    resource = call.world.ha.get(f"vm:{call.vmid}")
    if resource is None or resource.state == "ignored":
        return None
    world, node, number = call.world, call.node.name, call.vmid
    verb = {"started": "start", "stopped": "stop"}[wanted]

    def body(task: Task) -> Body:
        task.say(f"Requesting HA {verb} for VM {number}")
        yield 0.2
        resource.state = wanted
        world.agenda.after(_MANAGER_ROUND * world.pace.scale, lambda: _act(world, node, number, wanted))

    return call.task(f"ha{verb}", number, body)


def _act(world: Proxmox, node: str, number: int, wanted: str) -> None:
    if number not in world.vms:
        return

    def start(task: Task) -> Body:
        return with_lock(world, task, node, number, lambda vm: power_on(world, task, vm))

    def stop(task: Task) -> Body:
        return with_lock(world, task, node, number, lambda vm: shut_down(world, task, vm, _STOP_TIMEOUT, force=True))

    kind, act = ("qmstart", start) if wanted == "started" else ("qmshutdown", stop)
    world.tasks.start(node, kind, str(number), "root@pam", act)
