"""Machines: what a provider is asked to make, and what it says is there. A *node* is what Talos runs on one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from talosmith.model.cluster import Role
from talosmith.model.values import IpAddress

Power = Literal["on", "off", "unknown"]

CLUSTER_TAG, ID_TAG, NODE_TAG, ROLE_TAG = "talosmith-cluster", "talosmith-id", "talosmith-node", "talosmith-role"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose machines these are: the cluster's name, and an id that no other cluster of the same name has."""

    cluster: str
    id: str

    def tags(self, node: str, role: Role) -> dict[str, str]:
        return {**self.resource_tags, NODE_TAG: node, ROLE_TAG: role}

    @property
    def resource_tags(self) -> dict[str, str]:
        return {CLUSTER_TAG: self.cluster, ID_TAG: self.id}

    def owns(self, tags: Mapping[str, str]) -> bool:
        return tags.get(CLUSTER_TAG) == self.cluster and tags.get(ID_TAG) == self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSpec:
    """A machine as the inventory wants it."""

    name: str
    role: Role
    ip: IpAddress
    mac: str | None = None
    vmid: int | None = None
    cpu: int | None = None  # None where the machine is what it is
    ram_mib: int | None = None
    disks_mib: tuple[int, ...] = ()
    arch: str = "amd64"
    talos_version: str = ""
    fingerprint: str = ""  # of the certificate it shows in maintenance mode, where the user knows it


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine that is there. `id` is the provider's own name for it."""

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
    outdated: str = ""  # what else of it differs from the inventory, where the provider can change it
    grows: bool = False  # its disks can be made larger while it runs
    tags: Mapping[str, str] = field(default_factory=dict)
