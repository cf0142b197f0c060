"""Where each resolved value comes from: a line of a file, a default, or how it was derived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from talosmith.inventory.explain import path_in_files
from talosmith.inventory.merge import Merged
from talosmith.inventory.numbers import how_numbered
from talosmith.inventory.parse import Path
from talosmith.inventory.resolve import Place, Resolved
from talosmith.inventory.resolve.nodes import install_disk_of
from talosmith.model.cluster import Node
from talosmith.model.services import Services

DEFAULT = "default"

# Attribute of a node -> key in the inventory.
_NODE_KEYS = {
    "name": "name",
    "ip": "ip",
    "mac": "mac_addr",
    "vmid": "vmid",
    "cpu": "cpu",
    "ram_mib": "ram",
    "disk_mib": "disk",
    "install_disk": "disk",
    "extra_disks_mib": "extra_disks",
    "instance_type": "instance_type",
    "zone": "az",
    "host": "host",
    "arch": "arch",
    "mtu": "mtu",
    "vlan": "vlan",
    "interface": "interface",
    "bond": "bond",
    "routes": "routes",
    "volumes": "volumes",
    "encrypt_disk": "encrypt_disk",
    "kernel_modules": "kernel_modules",
    "labels": "labels",
    "taints": "taints",
}


@dataclass(frozen=True, slots=True)
class Origin:
    name: str  # for example `network.vip` or `nodes.cp-1.mac`
    value: Any
    source: str


def origins(resolved: Resolved, merged: Merged) -> Iterator[Origin]:
    cluster = resolved.cluster

    def place_of(path: Path) -> str | None:
        return merged.origin(path) if path_in_files(path, merged.data) == path else None

    for key in ("cluster_name", "talos_version", "kubernetes_version"):
        yield Origin(key, getattr(resolved.inventory, key), place_of((key,)) or DEFAULT)
    endpoint = place_of(("network", "endpoint")) or _endpoint(resolved)
    yield Origin("endpoint", cluster.endpoint.url, endpoint)
    for key in ("node_cidr", "gateway", "vip", "pod_cidr", "svc_cidr", "dns_servers", "ntp_servers", "mtu", "vlan"):
        value = getattr(cluster.network, key)
        if value not in (None, ()):
            yield Origin(f"network.{key}", value, place_of(("network", key)) or _network(resolved, key, place_of))
    block = cluster.provider.name
    yield Origin("provider", block, place_of((block,)) or "default: no provider block means the lab")
    for section, model in ((block, cluster.provider), ("image", resolved.inventory.image)):
        for key in type(model).model_fields:
            value = getattr(model, key)
            if value not in (None, [], {}):
                yield Origin(f"{section}.{key}", value, place_of((section, key)) or DEFAULT)
    for key in (*Services.model_fields, "kubernetes", "talos"):
        source = place_of((key,))
        if source:
            yield Origin(key, getattr(resolved.inventory, key), source)
    for node, place in zip(cluster.nodes, resolved.places, strict=True):
        yield from _node(node, place, resolved, merged)


def _endpoint(resolved: Resolved) -> str:
    own = "derived: network.vip" if resolved.cluster.network.vip else "derived: the only control plane"
    return resolved.layout.origins.get("endpoint", own)


def _network(resolved: Resolved, key: str, place_of: Any) -> str:
    if key == "gateway":
        return "derived: the first address of network.node_cidr"
    layout = resolved.layout
    own = place_of(layout.node_network) if key == "node_cidr" else None
    return own or layout.origins.get(key, DEFAULT)


def _node(node: Node, place: Place, resolved: Resolved, merged: Merged) -> Iterator[Origin]:
    for attribute, key in _NODE_KEYS.items():
        value = getattr(node, attribute)
        if value in (None, (), {}, False):
            continue
        path = place.of(key)
        if path[-1] == key and path != place.path:
            source = merged.origin(path_in_files(path, merged.data))
            if attribute == "install_disk" and node.install_disk != _chosen(place, resolved):
                source = f"default of {resolved.cluster.provider.name}"
        else:
            source = _derived(attribute, node, resolved)
        yield Origin(f"nodes.{node.name}.{attribute}", value, source)


def _chosen(place: Place, resolved: Resolved) -> Any:
    """The install disk that the inventory selects; None where `disk` is a size."""
    if place.of("disk_selector")[-1] == "disk_selector":
        return place.own.disk_selector if place.gives("disk_selector") and place.own else place.group.disk_selector
    return install_disk_of(place.own.disk if place.gives("disk") and place.own else place.group.disk)


def _derived(attribute: str, node: Node, resolved: Resolved) -> str:
    offset = "cp_ip_offset" if node.role == "controlplane" else "worker_ip_offset"
    numbered = how_numbered(node.name)
    match attribute:
        case "name":
            return "derived: name_prefix and count"
        case "ip":
            return f"derived: {node.subnet or 'network.node_cidr'} + network.{offset} + number in the name - 1"
        case "mac":
            return f"derived: {numbered} and mac_index"
        case "install_disk":
            return f"default of {resolved.cluster.provider.name}"
        case "mtu" | "vlan":
            return f"from network.{attribute}"
        case _:
            return resolved.layout.origins.get(attribute, DEFAULT).format(numbered=numbered)
