"""What the steps of sequences do to a machine, from power-on to being wiped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith_lab import joining, services, unattended
from talosmith_lab.checks import Invalid, check
from talosmith_lab.disks import find_install_disk
from talosmith_lab.etcd import EtcdError
from talosmith_lab.installing import pulled_version
from talosmith_lab.machine import Machine, Run, Slot, System
from talosmith_lab.sequences import SequenceFailed, action, begin
from talosmith_lab.versions import line_of
from talosmith_lab.world import World

_EPHEMERAL = ("kubelet", "etcd", "trustd", "cri")


def power_on(world: World, machine: Machine) -> None:
    if machine.run is None:
        _new_run(world, machine)
        begin(world, machine, "power")


def power_off(world: World, machine: Machine) -> None:
    """At once; nothing on it is asked."""
    if machine.run is None:
        return
    world.touch(machine, config=True)  # while its cluster is still known
    machine.run = None
    world.timeline.cancel_all(machine.name)
    world.touch(machine, config=True)
    if machine.system is not None and machine.system.etcd is not None:
        world.touch_cluster(machine.system.etcd.cluster)


def power_cycle(world: World, machine: Machine) -> None:
    power_off(world, machine)
    power_on(world, machine)


def _new_run(world: World, machine: Machine) -> None:
    power_off(world, machine)
    machine.boots += 1
    machine.run = Run(
        boot=machine.boots, boot_id=world.unique(machine.name), since=world.now(), version=machine.version
    )
    world.touch(machine, config=True)


@action
def start_kernel(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    run, system = machine.run, machine.system
    assert run is not None  # noqa: S101 - a step runs on a machine that is on
    run.sequence = None
    if world.strike("boot-failure", machine.name) or (system is None and machine.platform != "metal"):
        world.kernel(machine, "No bootable device." if system is None else "Kernel panic - not syncing")
        world.touch(machine)
        return
    if system is not None:
        if system.fallback and world.strike("rollback", machine.name):
            system.default, system.fallback = system.fallback, ""
        run.slot, run.version = system.default, system.slots[system.default].version
    world.kernel(machine, f"Linux version {line_of(run.version).kernel}-talos ({machine.arch})")
    world.kernel(machine, f"[talos] Talos {run.version}")
    begin(world, machine, "initialize")


@action
def start_early(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    services.add(world, machine, *services.EARLY)


@action
def start_dashboard(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    services.add(world, machine, services.DASHBOARD)


@action
def load_config(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    run, system = machine.run, machine.system
    assert run is not None  # noqa: S101
    if system is not None and system.staged_image:
        begin(world, machine, "install", image=system.staged_image)
        return
    run.config = (system.config if system else "") or _found(world, machine)
    world.touch(machine, config=True)
    if world.config(machine) is None:
        run.sequence, run.stage, run.certificate = None, "maintenance", True
        world.kernel(machine, "[talos] this machine is reachable at: " + machine.address)
        world.kernel(machine, "[talos] upload configuration using talosctl apply-config --insecure")
        return
    if system is not None and not system.config:
        system.config = run.config
    go_on_with_config(world, machine)


def _found(world: World, machine: Machine) -> str:
    """The config that the machine came with, if it is any good."""
    if not machine.seed or machine.run is None:
        return ""
    try:
        check(machine, machine.run.version, world.texts[machine.seed])
    except Invalid as refusal:
        world.kernel(machine, f"[talos] the config is not valid: {refusal}")
        world.event(machine, "ConfigValidationErrorEvent", {"error": str(refusal)})
        return ""
    return machine.seed


def go_on_with_config(world: World, machine: Machine) -> None:
    """A whole config is there: install what is not, else boot."""
    run, config = machine.run, world.config(machine)
    assert run is not None and config is not None  # noqa: S101
    run.certificate = False
    if machine.system is None:
        if config.install is not None and config.install.unattended:
            unattended.start(world, machine)
        else:
            begin(world, machine, "install")
        return
    if config.install is not None and config.install.unattended:
        run.installing = "installed"
    if machine.system.volumes is None:
        machine.system.volumes = list(config.volumes)
    begin(world, machine, "boot")
    services.add(world, machine, *services.of_role(config))


@action
def install(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    config = world.config(machine)
    if arguments.get("image") and machine.system is not None:
        machine.system.staged_image = ""
        write_slot(world, machine, arguments["image"])
        return
    if config is None or config.install is None or machine.run is None:
        raise SequenceFailed("there is no config to install with")
    disk = find_install_disk(machine.disks, config.install.match)
    if disk is None:
        raise SequenceFailed(f"no disk for {config.install.match} exists")
    version = pulled_version(world, machine, config.install.image or f"installer:{machine.run.version}")
    slot = Slot(version, config.install.image)
    machine.system = System(device=disk.device, slots={"A": slot}, default="A", config=machine.run.config)
    world.touch(machine)


@action
def boot_installed(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    """Talos is on its disk now, and boots on without a reboot."""
    go_on_with_config(world, machine)


@action
def upgrade(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    write_slot(world, machine, arguments["image"])


def write_slot(world: World, machine: Machine, image: str) -> None:
    """Put an image into the slot that is not in use, and boot it next time; raises `SequenceFailed`."""
    system, run = machine.system, machine.run
    if system is None or run is None:
        raise SequenceFailed("Talos is not installed")
    version = pulled_version(world, machine, image)
    used = run.slot or system.default
    free = "B" if used == "A" else "A"
    system.slots[free] = Slot(version, image)
    system.default, system.fallback = free, used
    world.kernel(machine, f"[talos] installed {version} into {free}")
    world.touch(machine)


@action
def booted(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    assert machine.run is not None  # noqa: S101
    machine.run.stage = "running"
    if machine.system is not None:
        machine.system.fallback = ""


@action
def stop_ephemeral(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    for name in _EPHEMERAL:
        services.stop(world, machine, name)
    _etcd_stopped(world, machine)


@action
def stop_all(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    for name in list(machine.run.services if machine.run else ()):
        services.stop(world, machine, name)
    _etcd_stopped(world, machine)


@action
def restart(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    _new_run(world, machine)
    start_kernel(world, machine, {})


@action
def shut_down(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    power_off(world, machine)


@action
def leave_etcd(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    try:
        joining.leave(world, machine)
    except EtcdError as error:
        raise SequenceFailed(f"failed to leave cluster: {error}") from None


@action
def wipe(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    partitions = arguments.get("partitions") or []
    volumes = machine.system.volumes or [] if machine.system is not None else []
    if arguments.get("system") or ("ETCD" if "ETCD" in volumes else "EPHEMERAL") in partitions:
        joining.forget(world, machine)
    if machine.system is not None and "EPHEMERAL" in partitions:
        machine.system.volumes = [one for one in volumes if one not in partitions] or None
    if machine.system is not None and "STATE" in partitions:
        machine.system.config = ""
    if machine.system is not None and "META" in partitions:
        machine.system.meta = {}
    if arguments.get("system"):
        machine.system = None
    for disk in machine.disks:
        if disk.device in (arguments.get("user_disks") or ()):
            disk.written = False
    world.touch(machine)


def _etcd_stopped(world: World, machine: Machine) -> None:
    if machine.system is not None and machine.system.etcd is not None:
        world.touch_cluster(machine.system.etcd.cluster)
