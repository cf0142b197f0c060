"""The services of a node: in which order they start, what they wait for, what is told of them.

etcd is the exception: whether it starts is a matter between nodes (`joining`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from talosmith_lab.clock import Key, Wait
from talosmith_lab.machine import Machine, Service, ServiceEvent, ServiceState
from talosmith_lab.nodeconfig import NodeConfig
from talosmith_lab.sequences import HOLDS
from talosmith_lab.world import World

EARLY = ("apid", "auditd", "containerd", "machined", "syslogd", "udevd")
DASHBOARD = "dashboard"
ETCD = "etcd"
NOT_RUNNING = "service not running"
_DOWN = frozenset({"Waiting", "Finished", "Failed"})
_KEPT_EVENTS = 16


@dataclass(frozen=True, slots=True)
class Definition:
    needs: tuple[str, ...] = ()
    wait: Wait = "service"
    needs_time: bool = False
    needs_certificate: bool = False


DEFINITIONS: Mapping[str, Definition] = {
    "apid": Definition(("containerd",), needs_certificate=True),
    "auditd": Definition(),
    "containerd": Definition(),
    "cri": Definition(("containerd",)),
    DASHBOARD: Definition(("machined",)),
    ETCD: Definition(("cri",), wait="image", needs_time=True),
    "kubelet": Definition(("cri",), wait="kubelet", needs_time=True),
    "machined": Definition(),
    "sandboxd": Definition(),
    "syslogd": Definition(),
    "trustd": Definition(("containerd",), needs_certificate=True),
    "udevd": Definition(),
}


def of_role(config: NodeConfig) -> tuple[str, ...]:
    """What a configured node runs besides the early ones."""
    first = ("sandboxd", "cri") if config.sandbox else ("cri",)
    return (*first, ETCD, "kubelet", "trustd") if config.is_controlplane else (*first, "kubelet")


def add(world: World, machine: Machine, *names: str) -> None:
    """Services that are to run from now on."""
    assert machine.run is not None  # noqa: S101 - callers look
    for name in names:
        if name not in machine.run.services:
            machine.run.services[name] = Service()
            set_state(world, machine, name, "Waiting", _reason(world, machine, name))


def settle(world: World, machine: Machine) -> None:
    """Start what can start."""
    if machine.run is None:
        return
    for name, service in machine.run.services.items():
        if service.state == "Waiting" and not service.fails:
            reason = _reason(world, machine, name)
            if not reason:
                set_state(world, machine, name, "Preparing", "Running pre state")
            elif service.events[-1].message != reason:
                set_state(world, machine, name, "Waiting", reason)
        if service.state == "Preparing" and name != ETCD:
            world.after(machine.name, f"service:{name}", DEFINITIONS[name].wait, machine.boots)


def started(world: World, machine: Machine, name: str) -> None:
    """The time a service needs to start is over."""
    service = machine.service(name)
    if service is not None and service.state == "Preparing":
        config = world.config(machine)
        world.pulled(machine, config.images.get(name, "") if config else "")
        set_state(world, machine, name, "Running", f"Started task {name}")
        set_health(world, machine, name, True, "Health check successful")


def stop(world: World, machine: Machine, name: str) -> None:
    service = machine.service(name)
    if service is None:
        return
    world.timeline.cancel(Key(machine.name, f"service:{name}"))
    if service.state in ("Running", "Preparing", "Waiting", "Starting"):
        set_state(world, machine, name, "Finished", "Service finished successfully")


def start_again(world: World, machine: Machine, name: str) -> None:
    service = machine.service(name)
    if service is not None and service.state in ("Finished", "Failed", "Skipped"):
        set_state(world, machine, name, "Waiting", _reason(world, machine, name))


def fail_forever(world: World, machine: Machine, name: str, why: str) -> None:
    """It ends as soon as it runs. Talos would try again every few seconds; here once stands for all of them."""
    assert machine.run is not None  # noqa: S101 - who fails has run
    machine.run.services[name].fails = True
    message = f'Error running Containerd({name}), going to restart forever: task "{name}" failed: exit code 1 ({why})'
    set_state(world, machine, name, "Waiting", message)


def set_state(world: World, machine: Machine, name: str, state: ServiceState, message: str) -> None:
    assert machine.run is not None  # noqa: S101
    service = machine.run.services[name]
    service.state = state
    if state in _DOWN and service.healthy is not None:
        service.healthy, service.health_message = False, NOT_RUNNING
        service.health_since = world.clock_of(machine)
    service.events = [*service.events[-_KEPT_EVENTS + 1 :], ServiceEvent(world.clock_of(machine), state, message)]
    _tell(world, machine, name, message)


def set_health(world: World, machine: Machine, name: str, healthy: bool, message: str) -> None:
    service = machine.service(name)
    if service is None or (service.healthy, service.health_message) == (healthy, message):
        return
    service.healthy, service.health_message = healthy, message
    service.health_since = world.clock_of(machine)
    _tell(world, machine, name, message)


def time_synced(world: World, machine: Machine) -> bool:
    return not world.active("clock-skew", machine.name)


def _services_up(world: World, machine: Machine) -> bool:
    """What the boot sequence waits for."""
    services = machine.run.services if machine.run else {}
    return all(one.state == "Running" for one in services.values())


HOLDS["services_up"] = _services_up


def _reason(world: World, machine: Machine, name: str) -> str:
    """What a service still waits for."""
    definition = DEFINITIONS[name]
    missing = [need for need in definition.needs if not machine.runs(need)]
    if missing:
        return f'Waiting for service "{missing[0]}" to be "up"'
    if definition.needs_time and not time_synced(world, machine):
        return "Waiting for time sync"
    if definition.needs_certificate and not (machine.run and machine.run.certificate):
        return "Waiting for api certificates"
    return ""


def _tell(world: World, machine: Machine, name: str, message: str) -> None:
    service = machine.service(name)
    assert service is not None  # noqa: S101
    health = {"unknown": service.healthy is None, "healthy": bool(service.healthy)}
    payload = {"service": name, "action": service.state.upper(), "message": message, "health": health}
    world.event(machine, "ServiceStateEvent", payload)
    world.kernel(machine, f"[talos] service[{name}]({service.state}): {message}")
    world.log(machine, name, message)
    world.touch(machine)
