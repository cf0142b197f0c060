"""Nodes of the lab behind the VMs of the simulator: what a VM finds in its drives and on its disk is what boots.

The simulator calls with its lock held, so all that a boot needs is read there, and the lab does the rest in its own
event loop. Whoever deals with a VM through the API of Proxmox VE deals with its node at the node's address.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from pycdlib import PyCdlib

from talosmith_lab import hardware
from talosmith_lab.machine import Machine
from tests.simulators.lab_errands import LabErrands

from .model import GIB, VM
from .vm_config import drive, drives, nic
from .vm_views import cpus, memory
from .world import Proxmox

SEED_DRIVE, ISO_DRIVE = "ide2", "ide0"
_FILES = ("meta-data", "user-data", "network-config")


@dataclass(frozen=True)
class Booting:
    """A VM at the moment of its start."""

    vmid: int
    uuid: str
    name: str
    mac: str
    cpu: int
    memory_mib: int
    disk_sizes: tuple[int, ...]
    has_system: bool  # the disk was written from an image: an import, or a clone of a template
    has_iso: bool
    seed: bytes | None


@dataclass(frozen=True)
class Boot:
    """What tests look at: which VM has started, with what."""

    vmid: int
    hostname: str
    address: str
    seeded: bool


@dataclass
class LabGuests(LabErrands):
    """Implements `Guests`. `leases` stands for a DHCP server: addresses by MAC address, in lower case."""

    leases: dict[str, str] = field(default_factory=dict)
    boots: list[Boot] = field(default_factory=list)
    _world: Proxmox | None = None
    _names: dict[str, str] = field(default_factory=dict)  # of machines, by the UUID of the VM

    def behind(self, world: Proxmox) -> None:
        self._world = world
        world.guests = self

    # Called by the simulator

    def started(self, vm: VM) -> None:
        booting = self._booting(vm)
        self._soon(lambda: self._boot(booting))

    def stopped(self, vm: VM) -> None:
        uuid = uuid_of(vm)
        self._soon(lambda: self._of_machine(uuid, self.lab.control.power_off))

    def destroyed(self, vm: VM) -> None:
        uuid = uuid_of(vm)
        self._soon(lambda: self._destroy(uuid))

    def _booting(self, vm: VM) -> Booting:
        world = self._world
        assert world is not None
        disks = [one for one in drives(vm.config) if re.fullmatch(r"scsi\d+", one.option) and not one.is_cdrom]
        disks.sort(key=lambda one: int(one.option.removeprefix("scsi")))
        volumes = [world.volumes.find(one.file, vm.node) for one in disks]
        first = volumes[0] if volumes else None
        seed = _medium(vm, SEED_DRIVE)
        return Booting(
            vmid=vm.vmid,
            uuid=uuid_of(vm),
            name=vm.name,
            mac=nic(str(vm.config.get("net0", ""))).get("macaddr", "").lower(),
            cpu=cpus(vm.config),
            memory_mib=memory(vm.config) // 1024**2,
            disk_sizes=tuple(volume.virtual_size for volume in volumes if volume),
            has_system=bool(first and (first.origin or first.parent)),
            has_iso=bool(_medium(vm, ISO_DRIVE)),
            seed=world.volume_bytes(seed, vm.node) if seed else None,
        )

    # In the lab's event loop

    def _boot(self, vm: Booting) -> None:
        files = _read(vm.seed) if vm.seed is not None else {}
        hostname = str(_mapping(files.get("meta-data")).get("local-hostname") or vm.name)
        control, name = self.lab.control, self._names.get(vm.uuid)
        if name is None:
            address = _static_address(_mapping(files.get("network-config"))) or self.leases[vm.mac]
            name = hostname
            platform = "nocloud" if vm.has_system or not vm.has_iso else "metal"
            control.create(
                name, power=False, address=address, mac=vm.mac, cpu=vm.cpu, memory_mib=vm.memory_mib,
                disk_sizes=vm.disk_sizes or (GIB,), platform=platform,
                version=self.version, config=files.get("user-data", b"").decode(),
            )  # fmt: skip
            self._names[vm.uuid] = name
            machine = self._machine(name)
            if not vm.has_system:
                machine.system = None  # without an ISO either, there is nothing to boot from
        machine = self._machine(name)
        hardware.resize(
            self.lab.world, machine, cpu=vm.cpu, memory_mib=vm.memory_mib, disk_sizes=vm.disk_sizes or (GIB,)
        )
        for disk in machine.disks:  # SCSI disks
            disk.device = disk.device.replace("/dev/vd", "/dev/sd")
        if machine.system is not None:
            machine.system.device = machine.system.device.replace("/dev/vd", "/dev/sd")
        self.boots.append(Boot(vm.vmid, name, machine.address, bool(files)))
        control.power_on([name])

    def _machine(self, name: str) -> Machine:
        return self.lab.world.machine(name)

    def _of_machine(self, uuid: str, act: Callable[[list[str]], object]) -> None:
        if uuid in self._names:
            act([self._names[uuid]])

    def _destroy(self, uuid: str) -> None:
        self._of_machine(uuid, self.lab.control.delete)
        self._names.pop(uuid, None)


def uuid_of(vm: VM) -> str:
    return str(vm.config.get("smbios1", "")).partition("uuid=")[2].partition(",")[0]


def _medium(vm: VM, option: str) -> str:
    """The volume in a CD drive, or nothing."""
    if option not in vm.config:
        return ""
    file = drive(option, str(vm.config[option])).file
    return "" if file in ("none", "cdrom") else file


def _read(iso: bytes) -> dict[str, bytes]:
    """The files of a NoCloud seed."""
    image = PyCdlib()
    image.open_fp(io.BytesIO(iso))
    found = {}
    try:
        for child in image.list_children(joliet_path="/"):
            name = child.file_identifier().decode("utf-16-be")
            if name in _FILES:
                content = io.BytesIO()
                image.get_file_from_iso_fp(content, joliet_path=f"/{name}")
                found[name] = content.getvalue()
    finally:
        image.close()
    return found


def _mapping(text: bytes | None) -> Mapping[str, Any]:
    found = yaml.safe_load(text) if text else None
    return found if isinstance(found, dict) else {}


def _static_address(network: Mapping[str, Any]) -> str:
    for link in network.get("ethernets", {}).values():
        for address in link.get("addresses", ()):
            return str(address).partition("/")[0]
    return ""
