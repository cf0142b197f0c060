"""Nodes of the lab behind the instances of the simulated AWS: an instance that runs is a node at its private address.

The simulator calls with its lock held, so all that a boot needs is read there, and the lab does the rest in its own
event loop. User data is the machine config, as it is or packed with gzip; without any the node waits in maintenance
mode. Nodes have the disks of the instance's volumes, and CPU and memory of its type.
"""

from __future__ import annotations

import base64
import gzip
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from talosmith_lab import hardware
from tests.simulators.lab_errands import LabErrands

from . import images  # isort: skip
from moto.ec2.models.instance_types import INSTANCE_TYPES

from .world import Cloud

assert images  # before moto
NODE_TAG = "talosmith-node"
GIB = 1024**3
_GZIP = b"\x1f\x8b"
_PATIENCE = 0.5  # of a health check, in seconds


@dataclass(frozen=True)
class Booting:
    """An instance at the moment of its start."""

    id: str
    name: str
    address: str
    mac: str
    cpu: int
    memory_mib: int
    disk_sizes: tuple[int, ...]
    config: str


@dataclass(frozen=True)
class Boot:
    """What tests look at: which instance has started, with what."""

    id: str
    name: str
    address: str
    configured: bool  # it had user data


@dataclass
class LabGuests(LabErrands):
    """Implements `Guests`."""

    boots: list[Boot] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)  # of machines, by the id of the instance

    def behind(self, cloud: Cloud) -> None:
        """Targets of load balancers are now healthy if the node listens."""
        cloud.guests = self
        cloud.public_is_private = True
        cloud.target_listens = listens

    def machine_of(self, instance: str) -> str:
        """The name of the lab's machine behind an instance."""
        return self._names[instance]

    # Called by the simulator

    def started(self, instance: Any) -> None:
        booting = _booting(instance)
        self._soon(lambda: self._boot(booting))

    def stopped(self, instance: Any) -> None:
        name = instance.id
        self._soon(lambda: self._of_machine(name, self.lab.control.power_off))

    def rebooted(self, instance: Any) -> None:
        name = instance.id
        self._soon(lambda: self._of_machine(name, self.lab.control.reboot))

    def terminated(self, instance: Any) -> None:
        name = instance.id
        self._soon(lambda: self._destroy(name))

    # In the lab's event loop

    def _boot(self, instance: Booting) -> None:
        control, world = self.lab.control, self.lab.world
        name = self._names.get(instance.id)
        if name is None:
            name = instance.name if instance.name not in world.machines else f"{instance.name}-{instance.id}"[-63:]
            control.create(
                name, power=False, address=instance.address, mac=instance.mac, cpu=instance.cpu,
                memory_mib=instance.memory_mib, disk_sizes=instance.disk_sizes, platform="aws",
                version=self.version, config=instance.config,
            )  # fmt: skip
            self._names[instance.id] = name
        machine = world.machine(name)
        hardware.resize(
            world, machine, cpu=instance.cpu, memory_mib=instance.memory_mib, disk_sizes=instance.disk_sizes
        )
        for disk in machine.disks:
            disk.device = _nvme(disk.device)
        if machine.system is not None:
            machine.system.device = _nvme(machine.system.device)
        self.boots.append(Boot(instance.id, name, machine.address, bool(instance.config)))
        control.power_on([name])

    def _of_machine(self, instance: str, act: Callable[[list[str]], object]) -> None:
        if instance in self._names:
            act([self._names[instance]])

    def _destroy(self, instance: str) -> None:
        self._of_machine(instance, self.lab.control.delete)
        self._names.pop(instance, None)


def listens(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=_PATIENCE):
            return True
    except OSError:
        return False


def _booting(instance: Any) -> Booting:
    backend = instance.ec2_backend
    tags = backend.tags.get(instance.id, {})
    kind = INSTANCE_TYPES[instance.instance_type]
    devices = sorted(
        instance.block_device_mapping.items(), key=lambda one: (one[0] != instance.root_device_name, one)
    )
    name = re.sub(r"[^a-z0-9.-]", "-", str(tags.get(NODE_TAG) or tags.get("Name") or instance.id).lower())
    return Booting(
        id=instance.id,
        name=name,
        address=instance.private_ip,
        mac=instance.nics[0].mac_address,
        cpu=kind["VCpuInfo"]["DefaultVCpus"],
        memory_mib=kind["MemoryInfo"]["SizeInMiB"],
        disk_sizes=tuple(int(backend.volumes[device.volume_id].size) * GIB for _, device in devices),
        config=_config(instance.user_data),
    )


def _config(user_data: Any) -> str:
    data = base64.b64decode(user_data.as_bytes()) if user_data else b""
    return (gzip.decompress(data) if data.startswith(_GZIP) else data).decode()


def _nvme(device: str) -> str:
    """Nitro instances have NVMe disks: /dev/vdb is the second."""
    letter = device.removeprefix("/dev/vd")
    return f"/dev/nvme{ord(letter) - ord('a')}n1" if len(letter) == 1 else device
