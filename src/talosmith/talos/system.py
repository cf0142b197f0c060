"""The machine: its version, name, clock, memory, disks and mounts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from google.protobuf.empty_pb2 import Empty

from talosmith.talos.grpc.caller import NO_CHANNEL, Caller
from talosmith.talos.proto.services import MachineServiceStub, StorageServiceStub, TimeServiceStub
from talosmith.talos.proto.storage_pb2 import BlockDeviceWipeDescriptor, BlockDeviceWipeRequest
from talosmith.talos.proto.storage_pb2 import Disk as WireDisk
from talosmith.talos.proto.time_pb2 import TimeRequest
from talosmith.talos.times import read_time

_MACHINE = MachineServiceStub(NO_CHANNEL)
_STORAGE = StorageServiceStub(NO_CHANNEL)
_TIME = TimeServiceStub(NO_CHANNEL)


@dataclass(frozen=True, slots=True)
class Version:
    """`tag` is Talos' own version, such as `v1.13.9`."""

    tag: str
    sha: str
    architecture: str
    platform: str
    mode: str
    rbac: bool


@dataclass(frozen=True, slots=True)
class Disk:
    """Sizes in bytes."""

    device: str
    size: int
    model: str
    serial: str
    kind: str  # ssd, hdd, nvme, sd, cd, unknown
    wwid: str
    uuid: str
    modalias: str
    bus_path: str
    system_disk: bool
    readonly: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """In bytes."""

    total: int
    free: int
    available: int


@dataclass(frozen=True, slots=True)
class Mount:
    """Sizes in bytes."""

    filesystem: str
    path: str
    size: int
    available: int


@dataclass(frozen=True, slots=True)
class TimeReading:
    """The node's clock, and that of the time server it asked."""

    server: str
    node: datetime
    remote: datetime

    @property
    def offset(self) -> timedelta:
        """By how much the node is ahead of its time server."""
        return self.node - self.remote


class SystemCalls(Caller):
    """What a node tells of the machine."""

    async def version(self, *, timeout: float | None = None) -> Version:
        reply = self._one(_MACHINE.Version, (await self._ask(_MACHINE.Version, Empty(), timeout)).messages)
        return Version(
            tag=reply.version.tag,
            sha=reply.version.sha,
            architecture=reply.version.arch,
            platform=reply.platform.name,
            mode=reply.platform.mode,
            rbac=reply.features.rbac,
        )

    async def hostname(self) -> str:
        reply = await self._ask(_MACHINE.Hostname, Empty())
        name: str = self._one(_MACHINE.Hostname, reply.messages).hostname
        return name

    async def load_average(self) -> tuple[float, float, float]:
        """Over 1, 5 and 15 minutes."""
        reply = self._one(_MACHINE.LoadAvg, (await self._ask(_MACHINE.LoadAvg, Empty())).messages)
        return reply.load1, reply.load5, reply.load15

    async def memory(self) -> Memory:
        reply = self._one(_MACHINE.Memory, (await self._ask(_MACHINE.Memory, Empty())).messages).meminfo
        return Memory(reply.memtotal * 1024, reply.memfree * 1024, reply.memavailable * 1024)  # the wire has KiB

    async def mounts(self) -> tuple[Mount, ...]:
        reply = self._one(_MACHINE.Mounts, (await self._ask(_MACHINE.Mounts, Empty())).messages)
        return tuple(Mount(item.filesystem, item.mounted_on, item.size, item.available) for item in reply.stats)

    async def disks(self) -> tuple[Disk, ...]:
        reply = self._one(_STORAGE.Disks, (await self._ask(_STORAGE.Disks, Empty())).messages)
        return tuple(
            Disk(
                device=item.device_name,
                size=item.size,
                model=item.model,
                serial=item.serial,
                kind=_kind(item.type),
                wwid=item.wwid,
                uuid=item.uuid,
                modalias=item.modalias,
                bus_path=item.bus_path,
                system_disk=item.system_disk,
                readonly=item.readonly,
            )
            for item in reply.disks
        )

    async def wipe_disk(self, device: str, *, zeroes: bool = False, timeout: float = 600.0) -> None:
        """Destroys what is on a disk or partition, given as `sdb`. `zeroes` overwrites all of it."""
        method = BlockDeviceWipeDescriptor.ZEROES if zeroes else BlockDeviceWipeDescriptor.FAST
        request = BlockDeviceWipeRequest(devices=[BlockDeviceWipeDescriptor(device=device, method=method)])
        reply = await self._ask(_STORAGE.BlockDeviceWipe, request, timeout)
        self._one(_STORAGE.BlockDeviceWipe, reply.messages)

    async def time(self, server: str = "") -> TimeReading:
        """Compared with a time server: the given one, or the one the node is configured with."""
        if server:
            answered = await self._ask(_TIME.TimeCheck, TimeRequest(server=server))
        else:
            answered = await self._ask(_TIME.Time, Empty())
        reply = self._one(_TIME.Time, answered.messages)
        return TimeReading(reply.server, read_time(reply.localtime), read_time(reply.remotetime))


def _kind(number: int) -> str:
    names = WireDisk.DiskType.items()
    return next((name.lower() for name, value in names if value == number), "unknown")
