"""The machine itself: stage, version, services, hardware, disks, config."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talosmith.model.versions import Version
from talosmith_lab.disks import listed
from talosmith_lab.machine import GIB, Disk, Machine
from talosmith_lab.nodeconfig import SYSTEM_VOLUMES
from talosmith_lab.resources.catalog import Made, makes
from talosmith_lab.world import World

_MIB = 1024**2


@makes("MachineStatuses.runtime.talos.dev")
def machine_status(world: World, machine: Machine) -> Made:
    if machine.run is not None:
        unmet = [{"name": name, "reason": reason} for name, reason in machine.run.unmet]
        yield (
            "machine",
            {"stage": machine.run.stage, "status": {"ready": machine.run.ready, "unmetConditions": unmet}},
        )


@makes("Versions.runtime.talos.dev")
def version(world: World, machine: Machine) -> Made:
    if machine.run is not None:
        yield "version", {"name": "Talos", "version": machine.run.version}


@makes("Services.v1alpha1.talos.dev")
def services(world: World, machine: Machine) -> Made:
    for name, service in machine.run.services.items() if machine.run else ():
        running = service.state == "Running"
        yield name, {"running": running, "healthy": bool(service.healthy), "unknown": service.healthy is None}


@makes("MachineConfigs.config.talos.dev", from_config=True)
def machine_configs(world: World, machine: Machine) -> Made:
    run, system = machine.run, machine.system
    if run is not None and run.config:
        yield "v1alpha1", world.texts[run.config]
    if system is not None and system.config:
        yield "persistent", world.texts[system.config]


@makes("MachineTypes.config.talos.dev", from_config=True)
def machine_type(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    yield "machine-type", config.role if config else "unknown"


@makes("MetaKeys.runtime.talos.dev")
def meta(world: World, machine: Machine) -> Made:
    for key, value in machine.system.meta.items() if machine.system else ():
        yield key, {"value": value}


@makes("KernelCmdlines.runtime.talos.dev")
def cmdline(world: World, machine: Machine) -> Made:
    yield "cmdline", {"cmdline": f"talos.platform={machine.platform} console=ttyS0"}


@makes("PlatformMetadatas.talos.dev")
def platform(world: World, machine: Machine) -> Made:
    yield "platformmetadata", {"platform": machine.platform}


@makes("SecurityStates.talos.dev")
def security(world: World, machine: Machine) -> Made:
    yield (
        "securitystate",
        {"secureBoot": False, "selinuxState": "disabled", "fipsState": "disabled", "bootedWithUKI": False},
    )


@makes("BootedEntries.talos.dev")
def booted_entry(world: World, machine: Machine) -> Made:
    if machine.run is not None and machine.run.slot:
        yield "bootedentry", {"bootedEntry": machine.run.slot}


@makes("SystemInformations.hardware.talos.dev")
def system_information(world: World, machine: Machine) -> Made:
    yield (
        "systeminformation",
        {
            "manufacturer": "talosmith",
            "productName": "Lab machine",
            "serialnumber": machine.name,
            "uuid": machine.uuid,
            "wakeUpType": "Power Switch",
        },
    )


@makes("Processors.hardware.talos.dev")
def processors(world: World, machine: Machine) -> Made:
    yield (
        "CPU-0",
        {
            "socket": "CPU 0",
            "manufacturer": "talosmith",
            "productName": "Lab CPU",
            "maxSpeedMhz": 2000,
            "bootSpeedMhz": 2000,
            "coreCount": machine.cpu,
            "coreEnabled": machine.cpu,
            "threadCount": machine.cpu,
        },
    )


@makes("MemoryModules.hardware.talos.dev")
def memory(world: World, machine: Machine) -> Made:
    yield (
        "DIMM-0",
        {"sizeMiB": machine.memory_mib, "deviceLocator": "DIMM 0", "manufacturer": "talosmith", "productName": "Lab"},
    )


@makes("Disks.block.talos.dev")
def disks(world: World, machine: Machine) -> Made:
    for disk in machine.disks:
        yield (
            disk.name,
            {**listed(disk), "pretty_size": pretty(disk.size)},
        )


@makes("SystemDisks.block.talos.dev")
def system_disk(world: World, machine: Machine) -> Made:
    if machine.system is not None:
        device = machine.system.device
        yield "system-disk", {"diskID": device.removeprefix("/dev/"), "devPath": device}


@makes("VolumeStatuses.block.talos.dev")
def volumes(world: World, machine: Machine) -> Made:
    disk, configured = _system_disk(machine), world.config(machine) is not None
    own = machine.system.volumes or [] if machine.system is not None else []
    for name, (index, size, filesystem) in _partitions(disk, own).items():
        ready = disk is not None and (name in ("META", "STATE") or configured)
        spec: dict[str, Any] = {"phase": "ready" if ready else "missing", "type": "partition"}
        if ready and disk is not None:
            spec |= {
                "location": f"{disk.device}{index}",
                "parentLocation": disk.device,
                "partitionIndex": index,
                "size": size,
                "prettySize": pretty(size),
                "filesystem": filesystem,
            }
        yield name, spec
    if disk is not None and configured and machine.run is not None:
        for name in system_volumes(machine.run.version):
            if name not in own:
                yield name, {"phase": "ready", "type": "directory"}


@makes("UnattendedInstallStatuses.runtime.talos.dev")
def unattended_install(world: World, machine: Machine) -> Made:
    config, run = world.config(machine), machine.run
    if run is not None and run.installing and config is not None and config.install is not None:
        spec = {"image": config.install.image, "phase": run.installing, "error": run.install_error}
        yield "unattended-install", {key: value for key, value in spec.items() if value and value != "pending"}


@makes("DiscoveredVolumes.block.talos.dev")
def discovered(world: World, machine: Machine) -> Made:
    for disk in machine.disks:
        system = machine.system is not None and machine.system.device == disk.device
        yield (
            disk.name,
            {
                "dev_path": disk.device,
                "type": "disk",
                "size": disk.size,
                "pretty_size": pretty(disk.size),
                "sector_size": 512,
                "name": "gpt" if system else "",
            },
        )
        own = machine.system.volumes or [] if machine.system is not None and system else []
        for label, (index, size, filesystem) in _partitions(disk, own).items() if system else ():
            yield (
                f"{disk.name}{index}",
                {
                    "dev_path": f"{disk.device}{index}",
                    "type": "partition",
                    "parent": disk.name,
                    "size": size,
                    "pretty_size": pretty(size),
                    "name": filesystem if filesystem != "none" else "talosmeta",
                    "partition_label": label,
                    "partition_index": index,
                },
            )


def pretty(size: int) -> str:
    """In the short form in which Talos prints sizes."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def _system_disk(machine: Machine) -> Disk | None:
    device = machine.system.device if machine.system else ""
    return next((disk for disk in machine.disks if disk.device == device), None)


def system_volumes(version: str) -> tuple[str, ...]:
    """Volumes that Talos of this version has on EPHEMERAL, unless they have partitions of their own."""
    return SYSTEM_VOLUMES if Version.parse(version).line >= (1, 14) else SYSTEM_VOLUMES[:1]


def _partitions(disk: Disk | None, own: Sequence[str] = ()) -> dict[str, tuple[int, int, str]]:
    rest = (disk.size if disk else 10 * GIB) - (2 + len(own)) * GIB - 102 * _MIB
    more = {name: (5 + number, GIB, "xfs") for number, name in enumerate(own)}
    return {"META": (2, _MIB, "none"), "STATE": (3, 100 * _MIB, "xfs"), "EPHEMERAL": (4, rest, "xfs"), **more}


for _nothing_in_a_lab in ("Diagnostics.runtime", "ExtensionStatuses.runtime", "SiderolinkStatuses.siderolink"):
    makes(f"{_nothing_in_a_lab}.talos.dev")(lambda world, machine: ())
