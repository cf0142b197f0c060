"""A simulated machine: its hardware, what is on its system disk, and what runs on it while it is on.

All of it is plain data. The disk survives everything but wiping; what runs is gone when the power is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Stage = Literal[
    "unknown", "booting", "installing", "maintenance", "running", "rebooting", "shutting down", "resetting",
    "upgrading",
]  # fmt: skip
ServiceState = Literal[
    "Initialized", "Preparing", "Waiting", "Starting", "Running", "Stopping", "Finished", "Failed", "Skipped"
]
InstallPhase = Literal["", "pending", "installing", "waiting-for-reboot", "installed", "failed"]
Platform = Literal["metal", "nocloud"]
GIB = 1024**3


@dataclass(slots=True, kw_only=True)
class Disk:
    device: str
    size: int  # bytes
    serial: str = ""
    model: str = "Lab Disk"
    transport: str = "virtio"
    written: bool = False  # holds data that is not Talos' own

    @property
    def name(self) -> str:
        return self.device.removeprefix("/dev/")


@dataclass(slots=True)
class Slot:
    """One of the two places on a disk that Talos boots from."""

    version: str
    image: str


@dataclass(slots=True)
class EtcdData:
    """The data directory: member of which cluster."""

    cluster: str
    member: int


@dataclass(slots=True, kw_only=True)
class System:
    """What the system disk holds."""

    device: str
    slots: dict[str, Slot]
    default: str  # the slot that boots
    fallback: str = ""  # the slot that boots instead if the default one fails; empty once that has come up
    config: str = ""  # on STATE: the digest of the config
    etcd: EtcdData | None = None  # on EPHEMERAL
    volumes: list[str] | None = None  # system volumes with partitions of their own; None: not created yet
    staged_image: str = ""  # on META: installed at the next boot
    meta: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ServiceEvent:
    at: float
    state: ServiceState
    message: str


@dataclass(slots=True)
class Service:
    state: ServiceState = "Initialized"
    healthy: bool | None = None  # None: not known
    health_message: str = ""
    health_since: float = 0.0
    events: list[ServiceEvent] = field(default_factory=list)
    fails: bool = False  # ends as often as it is started


@dataclass(slots=True, kw_only=True)
class Sequence:
    """What the node is busy with, and how far it is."""

    name: str
    actor: str = ""
    step: int = 0
    begun: bool = False  # the step's events are out
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Run:
    """A machine that is on, from power-on or reboot to the next one."""

    boot: int
    boot_id: str
    since: float
    version: str
    slot: str = ""  # empty: booted from the image, not from disk
    stage: Stage = "booting"
    told_stage: Stage = "unknown"  # what the last event said
    config: str = ""  # digest of the config in use
    trying_until: float | None = None  # then the config on disk comes back
    sequence: Sequence | None = None
    services: dict[str, Service] = field(default_factory=dict)
    certificate: bool = False  # the API has what it needs to answer
    static_pods: bool = False
    registered: bool = False  # its kubelet has made its node, in this boot
    node_ready: bool = False
    ready: bool = False
    unmet: list[tuple[str, str]] = field(default_factory=list)
    reboot_pending: bool = False  # a config that needs a reboot was taken; no other is until then
    installing: InstallPhase = ""  # by a document; empty: the config has none
    install_error: str = ""
    recovery: str = ""  # digest of an uploaded snapshot
    images: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Machine:
    name: str
    address: str  # what the lab's network gives it
    mac: str
    uuid: str
    cpu: int = 2
    memory_mib: int = 2048
    disks: list[Disk] = field(default_factory=list)
    platform: Platform = "metal"
    version: str = "v1.13.9"  # of the image it boots from while nothing is installed
    seed: str = ""  # digest of a config that it finds by itself while it has none
    tags: dict[str, str] = field(default_factory=dict)
    created: float = 0.0
    port: int = 0  # of the API, where machines cannot have addresses of their own
    boots: int = 0
    system: System | None = None
    run: Run | None = None
    revision: int = 0  # counts changes, for resources
    config_revision: int = 0

    @property
    def on(self) -> bool:
        return self.run is not None

    @property
    def arch(self) -> str:
        return "amd64"

    def service(self, name: str) -> Service | None:
        return self.run.services.get(name) if self.run else None

    def runs(self, service: str) -> bool:
        found = self.service(service)
        return found is not None and found.state == "Running"
