"""Machines for tests of providers, without an inventory."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network
from typing import Any

from talosmith.model.cluster import ClusterNetwork, Node, Role
from talosmith.model.machines import MachineSpec
from talosmith.model.services import Image
from talosmith.model.versions import Version

NETWORK = ClusterNetwork(
    node_cidr=None, pod_cidr=ip_network("10.244.0.0/16"), svc_cidr=ip_network("10.96.0.0/12"), gateway=None, vip=None,
    addressing="dhcp",
)  # fmt: skip


def machine_spec(
    name: str, role: Role, ip: str, *, disks_mib: tuple[int, ...] = (), talos: str = "v1.13.8", **settings: Any
) -> MachineSpec:
    node = Node(
        name=name, role=role, ip=ip_address(ip), image=Image(), **{"mac": None, **settings, **_disks(disks_mib)}
    )
    return spec_of(node, talos)


def spec_of(node: Node, talos: str = "v1.13.8") -> MachineSpec:
    return MachineSpec(node=node, network=NETWORK, talos_version=Version.parse(talos))


def with_settings(spec: MachineSpec, *, disks_mib: tuple[int, ...] | None = None, **settings: Any) -> MachineSpec:
    """The same machine with other settings of its node."""
    disks = {} if disks_mib is None else _disks(disks_mib)
    return replace(spec, node=replace(spec.node, **settings, **disks))


def _disks(sizes: tuple[int, ...]) -> dict[str, Any]:
    return {"disk_mib": sizes[0] if sizes else None, "extra_disks_mib": sizes[1:]}
