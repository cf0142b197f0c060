"""The parts of a simulated Proxmox VE cluster as plain data that tests read and change."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

GIB = 1024**3
CONTENT = ("images", "iso", "import", "vztmpl", "backup", "snippets", "rootdir")


@dataclass
class Node:
    name: str
    online: bool = True
    cpus: int = 8
    memory_total: int = 25276518400
    memory_used: int = 3833327616
    memory_free: int = 15379226624
    memory_available: int = 21443190784
    disk_total: int = 270553174016
    disk_used: int = 38193369088
    kvm: bool = True  # hardware virtualisation; False: a VM starts only with `kvm: 0`
    ip: str = "10.99.86.2"
    fault: Literal["", "no route", "timeout"] = ""  # of requests passed on to this node, though online
    bridges: dict[str, Bridge] = field(default_factory=dict)
    cpu_models: list[tuple[str, str, int]] = field(default_factory=list)  # name, vendor, custom
    booted: float = 0.0


@dataclass
class Bridge:
    name: str
    type: str = "bridge"  # bridge, OVSBridge, vnet, eth, bond, vlan
    active: bool = True
    address: str = ""  # with the prefix length: 10.99.87.1/24
    ports: str = ""
    vlan_aware: bool = False
    zone: str = "localnetwork"  # of a vnet, its SDN zone


@dataclass
class Storage:
    name: str
    type: str = "dir"
    content: set[str] = field(default_factory=lambda: {"images", "iso"})
    path: str = ""
    total: int = 270553174016
    avail: int = 59599925248
    enabled: bool = True
    active: bool = True
    shared: bool = False
    nodes: set[str] | None = None  # None: on all
    bandwidth: int | None = None  # KiB a second
    full: bool = False

    @property
    def used(self) -> int:
        return max(0, self.total - self.avail)

    @property
    def keeps_files(self) -> bool:
        return self.type in ("dir", "nfs", "cifs", "cephfs", "btrfs")

    def on(self, node: str) -> bool:
        return self.nodes is None or node in self.nodes


@dataclass
class Volume:
    volid: str
    content: str
    format: str
    size: int  # of the file
    node: str  # "" for a shared storage
    ctime: int = 0
    virtual_size: int = 0  # of the disk in the file
    used: int = 0
    vmid: int | None = None
    parent: Volume | None = None  # of a linked clone, the volume of the template
    origin: Volume | None = None  # where the contents came from at first: an import, a template
    data: bytes | None = None
    path: Path | None = None

    @property
    def storage(self) -> str:
        return self.volid.partition(":")[0]

    @property
    def name(self) -> str:
        """Without the storage."""
        return self.volid.partition(":")[2]

    @property
    def is_base(self) -> bool:
        return self.name.rpartition("/")[2].startswith("base-")


@dataclass
class Listed:
    """A VM as last reported to the cluster by the status daemon."""

    name: str
    status: str
    cpus: int
    maxmem: int
    maxdisk: int
    uptime: int
    template: int


@dataclass
class VM:
    vmid: int
    node: str
    config: dict[str, Any] = field(default_factory=dict)
    status: str = "stopped"  # or "running"
    pending: dict[str, Any] = field(default_factory=dict)
    pending_delete: list[str] = field(default_factory=list)
    created: float = 0.0
    started: float = 0.0
    pid: int = 0
    paused: bool = False
    agent_running: bool = False  # in the guest, whatever `agent` in the config says
    interfaces: list[dict[str, Any]] = field(default_factory=list)  # the answer of network-get-interfaces
    obeys_shutdown: bool = True  # the guest powers off when the power button is pressed
    listed: Listed | None = None

    @property
    def name(self) -> str:
        return str(self.config.get("name", f"VM {self.vmid}"))

    @property
    def tags(self) -> str:
        return str(self.config.get("tags", ""))

    @property
    def lock(self) -> str | None:
        return self.config.get("lock")

    @lock.setter
    def lock(self, kind: str | None) -> None:
        self.config.pop("lock", None)
        if kind is not None:
            self.config["lock"] = kind

    @property
    def template(self) -> bool:
        return bool(self.config.get("template"))

    @template.setter
    def template(self, yes: bool) -> None:
        self.config.pop("template", None)
        if yes:
            self.config["template"] = 1


@dataclass
class Pool:
    id: str
    comment: str = ""
    vms: set[int] = field(default_factory=set)
    storages: set[str] = field(default_factory=set)


@dataclass
class HaResource:
    sid: str
    state: str = "started"
    group: str = ""
    comment: str = ""
    max_restart: int = 1
    max_relocate: int = 1
