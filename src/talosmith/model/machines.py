"""Machines: as the provider shall create them, and as they exist. A *node* is Talos running on one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from talosmith.model.cluster import ClusterNetwork, Node, Role
from talosmith.model.resources import SettingChange
from talosmith.model.values import IpAddress
from talosmith.model.versions import Version

Power = Literal["on", "off", "unknown"]

CLUSTER_TAG, ID_TAG, NODE_TAG, ROLE_TAG = "talosmith-cluster", "talosmith-id", "talosmith-node", "talosmith-role"


@dataclass(frozen=True, slots=True)
class Owner:
    """The cluster that owns machines: its name, and an id that no other cluster of the same name has."""

    cluster: str
    id: str

    def tags(self, node: str, role: Role) -> dict[str, str]:
        return {**self.resource_tags, NODE_TAG: node, ROLE_TAG: role}

    @property
    def resource_tags(self) -> dict[str, str]:
        return {CLUSTER_TAG: self.cluster, ID_TAG: self.id}

    @property
    def mark(self) -> str:
        """What Kubernetes marks its load balancers and volumes with; no other cluster has it."""
        return f"{self.cluster}-{self.id}"

    def owns(self, tags: Mapping[str, str]) -> bool:
        return tags.get(CLUSTER_TAG) == self.cluster and tags.get(ID_TAG) == self.id

    def former_name(self, tags: Mapping[str, str]) -> str:
        """The cluster's name in tags that have this id and another name; else empty."""
        name = tags.get(CLUSTER_TAG, "")
        return name if tags.get(ID_TAG) == self.id and name != self.cluster else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSpec:
    """A machine as the inventory wants it: its node, with sizes, image and placement, and what all nodes share.

    All that a provider needs to create it: `node.host`, `node.zone` and `node.subnet` say where.
    """

    node: Node
    network: ClusterNetwork
    talos_version: Version

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def role(self) -> Role:
        return self.node.role

    @property
    def ip(self) -> IpAddress:
        return self.node.ip

    @property
    def mac(self) -> str | None:
        return self.node.mac

    @property
    def cpu(self) -> int | None:
        """None for existing machines."""
        return self.node.cpu

    @property
    def ram_mib(self) -> int | None:
        return self.node.ram_mib

    @property
    def disks_mib(self) -> tuple[int, ...]:
        return () if self.node.disk_mib is None else (self.node.disk_mib, *self.node.extra_disks_mib)

    @property
    def arch(self) -> str:
        return self.node.arch

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the certificate presented in maintenance mode, where the inventory has it."""
        return self.node.fingerprint or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine that exists. `id` is the provider's own name for it."""

    id: str
    name: str  # the node's name in the inventory, from its tags
    role: Role
    power: Power = "unknown"
    addresses: tuple[str, ...] = ()  # its own, now, leases among them; best first
    endpoint: str = ""  # `host` or `host:port` where it is reached from here, if not at its addresses: a public one
    fingerprint: str = ""  # of its maintenance certificate, if the provider can tell
    cpu: int | None = None
    ram_mib: int | None = None
    disks_mib: tuple[int, ...] = ()
    seeded: bool = False  # the seed with its config is still attached to it
    unfinished: bool = False  # its creation was cut off, or is under way: `create` finishes it
    outdated: str = ""  # what else of it differs from the inventory, where the provider can change it …
    outdated_running: str = ""  # … and what it can change while the machine runs
    fixed: tuple[SettingChange, ...] = ()  # what differs from the inventory, and no provider call can change
    kept: tuple[SettingChange, ...] = ()  # what differs from the inventory, and only a new machine gets
    grows: bool = False  # its disks can be made larger while it runs
    tags: Mapping[str, str] = field(default_factory=dict)


def new_settings(spec: MachineSpec) -> tuple[SettingChange, ...]:
    """Where a machine that does not exist is created, and how large."""
    node = spec.node
    pairs = (
        ("address", str(spec.ip)),
        ("VMID", node.vmid),
        ("host", node.host),
        ("zone", node.zone),
        ("type", node.instance_type),
        ("CPUs", spec.cpu),
        ("memory", spec.ram_mib and f"{spec.ram_mib} MiB"),
        ("disk", " + ".join(f"{mib / 1024:g} GiB" for mib in spec.disks_mib)),
    )
    return tuple(SettingChange(name, None, value) for name, value in pairs if value)


def size_changes(machine: Machine, spec: MachineSpec) -> list[tuple[str, int, int]]:
    """Sizes that differ from the inventory's, each as unit, live value and wanted value."""
    pairs = (
        ("CPUs", machine.cpu, spec.cpu),
        ("MiB of memory", machine.ram_mib, spec.ram_mib),
        ("MiB of disk", sum(machine.disks_mib) or None, sum(spec.disks_mib) or None),
    )
    return [(what, old, new) for what, old, new in pairs if old and new and old != new]
