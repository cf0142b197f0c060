"""Installation by an UnattendedInstallConfig, from Talos 1.14 on: a controller installs while the node boots.

There is no sequence of it, and no stage: what the node is doing stands in its `UnattendedInstallStatus`. A disk that
nothing selects is waited for, and what fails is tried again as soon as it can succeed; neither reboots the node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith_lab.disks import find_install_disk
from talosmith_lab.installing import pulled_version
from talosmith_lab.machine import InstallPhase, Machine, Slot, System
from talosmith_lab.nodeconfig import Install
from talosmith_lab.sequences import UNATTENDED, SequenceFailed, action, begin
from talosmith_lab.world import World

NO_DISK = "no disk matched the selector"


def settle(world: World, machine: Machine) -> None:
    """Begin once there is a disk, and again once what failed can succeed."""
    run = machine.run
    install = _wanted(world, machine)
    if run is None or install is None or run.sequence is not None or run.installing not in ("pending", "failed"):
        return
    if find_install_disk(machine.disks, install.match) is None:
        _set(world, machine, "pending", NO_DISK)
        return
    try:
        pulled_version(world, machine, _image(machine, install))
    except SequenceFailed as failure:
        _set(world, machine, "failed", str(failure))
        return
    _set(world, machine, "installing")
    begin(world, machine, UNATTENDED)


def start(world: World, machine: Machine) -> None:
    """A node without Talos on its disk has got such a config."""
    assert machine.run is not None  # noqa: S101 - callers look
    machine.run.installing, machine.run.stage = "pending", "booting"
    machine.run.sequence = None
    world.touch(machine)


@action
def install_unattended(world: World, machine: Machine, arguments: Mapping[str, Any]) -> None:
    run, install = machine.run, _wanted(world, machine)
    assert run is not None  # noqa: S101 - a step runs on a machine that is on
    disk = find_install_disk(machine.disks, install.match) if install else None
    if install is None or disk is None:
        run.sequence = None
        _set(world, machine, "pending", NO_DISK)
        return
    image = _image(machine, install)
    try:
        version = pulled_version(world, machine, image)
    except SequenceFailed as failure:
        run.sequence = None
        _set(world, machine, "failed", str(failure))
        return
    machine.system = System(device=disk.device, slots={"A": Slot(version, image)}, default="A", config=run.config)
    world.kernel(machine, f"[talos] install successful: {image} on {disk.device}")
    if install.reboot:
        _set(world, machine, "waiting-for-reboot")
        begin(world, machine, "reboot")
    else:
        _set(world, machine, "installed")


def _wanted(world: World, machine: Machine) -> Install | None:
    config = world.config(machine)
    wanted = config.install if config is not None and machine.system is None else None
    return wanted if wanted is not None and wanted.unattended else None


def _image(machine: Machine, install: Install) -> str:
    """Without one, that of the image that the machine has booted."""
    return install.image or f"factory.talos.dev/metal-installer:{machine.run.version if machine.run else ''}"


def _set(world: World, machine: Machine, phase: InstallPhase, error: str = "") -> None:
    run = machine.run
    assert run is not None  # noqa: S101 - callers look
    if (run.installing, run.install_error) == (phase, error):
        return
    run.installing, run.install_error = phase, error
    world.kernel(machine, f"[talos] unattended install: {phase}{f': {error}' if error else ''}")
    world.touch(machine)
