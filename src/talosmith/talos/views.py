"""The resources that bring-up and health ask for, as types of their own instead of nested data."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TypeVar

from talosmith.model.secret import Secret
from talosmith.talos.errors import NotTalos
from talosmith.talos.grpc.caller import FOLLOWING
from talosmith.talos.resources import ChangeKind, Resource, ResourceCalls

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unmet:
    """A condition that keeps a node from being ready, and why it is not met."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """`stage` is booting, installing, maintenance, running, rebooting, shutting down, resetting or upgrading."""

    stage: str
    ready: bool
    unmet: tuple[Unmet, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A network interface, physical or not."""

    name: str
    hardware_address: str
    permanent_address: str
    kind: str  # empty for a physical one; bond, vlan, bridge, …
    type: str  # ether, loopback, …
    driver: str
    bus_path: str
    mtu: int
    up: bool
    speed_mbit: int


@dataclass(frozen=True, slots=True)
class LinkAddress:
    """An address on an interface, with the length of its prefix."""

    address: ipaddress.IPv4Interface | ipaddress.IPv6Interface
    link: str
    scope: str


@dataclass(frozen=True, slots=True)
class Member:
    """A node of the cluster, as discovery knows it."""

    id: str
    hostname: str
    addresses: tuple[str, ...]
    machine_type: str  # controlplane, worker, init
    operating_system: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of Talos' own or of the user. One without a location is a directory on another volume."""

    name: str
    type: str  # partition, disk, directory, overlay, …
    phase: str  # ready, waiting, missing, failed, …
    location: str  # a device such as /dev/sda4


@dataclass(frozen=True, slots=True)
class TimeStatus:
    """Whether the node's clock follows a time server."""

    synced: bool
    disabled: bool


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something that Talos itself finds wrong with its node."""

    id: str
    message: str
    details: tuple[str, ...]


class ViewCalls(ResourceCalls):
    """Each reads one kind of resource."""

    async def machine_status(self) -> MachineStatus:
        return self._status(await self.get("machinestatuses", "machine"))

    async def watch_machine_status(self, *, timeout: float = FOLLOWING) -> AsyncGenerator[MachineStatus, None]:
        """The present status, then each new one."""
        async for change in self.watch("machinestatuses", "machine", timeout=timeout):
            if change.resource is not None and change.kind in (ChangeKind.CREATED, ChangeKind.UPDATED):
                yield self._status(change.resource)

    async def links(self) -> tuple[Link, ...]:
        found = await self.list("linkstatuses")
        return tuple(self._fields(item, _link) for item in found)

    async def addresses(self) -> tuple[LinkAddress, ...]:
        """Of all interfaces, loopback included."""
        found = await self.list("addressstatuses")
        return tuple(self._fields(item, _address) for item in found)

    async def node_addresses(self, which: str = "routed") -> tuple[str, ...]:
        """The node's own choice of its addresses: `default`, `current`, `routed` or `accumulative`."""
        found = await self.get("nodeaddresses", which)
        return self._fields(found, _hosts)

    async def members(self) -> tuple[Member, ...]:
        """Who is in the cluster, by discovery."""
        found = await self.list("members")
        return tuple(self._fields(item, _member) for item in found)

    async def nodename(self) -> str:
        """The name that the node has in Kubernetes."""
        found = await self.get("nodenames", "nodename")
        return self._fields(found, lambda item: str(item.spec["nodename"]))

    async def system_disk(self) -> str:
        """The device that Talos is installed on, such as `/dev/sda`."""
        found = await self.get("systemdisks", "system-disk")
        return self._fields(found, lambda item: str(item.spec["devPath"]))

    async def volumes(self) -> tuple[Volume, ...]:
        found = await self.list("volumestatuses")
        return tuple(self._fields(item, _volume) for item in found)

    async def time_status(self) -> TimeStatus:
        found = await self.get("timestatuses", "node")
        return self._fields(found, lambda item: TimeStatus(item.spec["synced"], item.spec["syncDisabled"]))

    async def diagnostics(self) -> tuple[Diagnostic, ...]:
        found = await self.list("diagnostics")
        return tuple(self._fields(item, _diagnostic) for item in found)

    async def machine_config(self, *, persistent: bool = False) -> Secret:
        """The config the node runs with, or the one it would boot with. Needs the role os:admin."""
        found = await self.get("machineconfigs", "persistent" if persistent else "v1alpha1")
        return self._fields(found, _config)

    def _status(self, found: Resource) -> MachineStatus:
        return self._fields(found, _status)

    def _fields(self, item: Resource, read: Callable[[Resource], T]) -> T:
        try:
            return read(item)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise NotTalos(
                self._label,
                f"{item.type}/{item.id} does not have the fields it should have",
                hint="The Talos on the node may be newer than this client knows.",
                call="Get",
            ) from None


def _status(item: Resource) -> MachineStatus:
    status = item.spec["status"]
    return MachineStatus(
        stage=str(item.spec["stage"]),
        ready=bool(status["ready"]),
        unmet=tuple(Unmet(unmet["name"], unmet["reason"]) for unmet in status.get("unmetConditions") or ()),
    )


def _hosts(item: Resource) -> tuple[str, ...]:
    return tuple(address.partition("/")[0] for address in item.spec["addresses"] or ())


def _link(item: Resource) -> Link:
    spec = item.spec
    return Link(
        name=item.id,
        hardware_address=spec.get("hardwareAddr") or "",
        permanent_address=spec.get("permanentAddr") or "",
        kind=spec.get("kind") or "",
        type=spec.get("type") or "",
        driver=spec.get("driver") or "",
        bus_path=spec.get("busPath") or "",
        mtu=int(spec.get("mtu") or 0),
        up=spec.get("operationalState") == "up",
        speed_mbit=int(spec.get("speedMbit") or 0),
    )


def _address(item: Resource) -> LinkAddress:
    spec = item.spec
    return LinkAddress(ipaddress.ip_interface(spec["address"]), str(spec["linkName"]), str(spec["scope"]))


def _member(item: Resource) -> Member:
    spec = item.spec
    return Member(
        id=item.id,
        hostname=str(spec["hostname"]),
        addresses=tuple(str(address) for address in spec["addresses"] or ()),
        machine_type=str(spec["machineType"]),
        operating_system=str(spec.get("operatingSystem") or ""),
    )


def _volume(item: Resource) -> Volume:
    spec = item.spec
    return Volume(item.id, str(spec.get("type") or ""), str(spec.get("phase") or ""), str(spec.get("location") or ""))


def _diagnostic(item: Resource) -> Diagnostic:
    return Diagnostic(item.id, str(item.spec["message"]), tuple(item.spec.get("details") or ()))


def _config(item: Resource) -> Secret:
    """A config stands as text within the text, unless the node is old."""
    return Secret(item.spec if isinstance(item.spec, str) else item.yaml)
