"""The node network, and the endpoint of the Kubernetes API."""

from __future__ import annotations

from typing import Any

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.layouts.layout import Layout
from talosmith.inventory.numbers import address_at
from talosmith.inventory.schema import Inventory
from talosmith.model.cluster import Addressing, ClusterNetwork, Endpoint, Node
from talosmith.model.providers import PROVIDERS, Lab, ProviderSection


def chosen_provider(inventory: Inventory) -> ProviderSection:
    """The provider block that is set; the rules refuse more than one."""
    given = [getattr(inventory, name) for name in PROVIDERS if getattr(inventory, name) is not None]
    return given[0] if given else Lab()


def resolve_network(inventory: Inventory, layout: Layout[Any]) -> ClusterNetwork:
    wanted = inventory.network
    node_cidr = layout.node_cidr(wanted.node_cidr, inventory.cluster_name)
    gateway, vip = wanted.gateway, wanted.vip
    if gateway is None and node_cidr is not None:
        gateway = address_at(node_cidr, 1)
    if vip is None and wanted.endpoint is None:
        vip = layout.vip(node_cidr, _controlplanes(inventory))
    addressing: Addressing = "static" if node_cidr is not None else "dhcp"
    if layout.section.gives_addresses:
        addressing = "provider"
    return ClusterNetwork(
        node_cidr=node_cidr,
        pod_cidr=wanted.pod_cidr,
        svc_cidr=wanted.svc_cidr,
        gateway=gateway,
        vip=vip,
        addressing=addressing,
        dns_servers=tuple(wanted.dns_servers),
        ntp_servers=tuple(wanted.ntp_servers),
        cert_sans=tuple(wanted.cert_sans),
        mtu=wanted.mtu,
        vlan=wanted.vlan,
    )


def resolve_endpoint(
    inventory: Inventory,
    layout: Layout[Any],
    network: ClusterNetwork,
    nodes: tuple[Node, ...],
    findings: list[Finding],
) -> Endpoint | None:
    if _controlplanes(inventory) == 0:
        fix = "add `controlplane: 1`, or a list of nodes"
        findings.append(error(("controlplane",), "no control plane", "a cluster needs at least one", fix))
        return None
    if inventory.network.endpoint is not None:
        return _parse_endpoint(inventory.network.endpoint)
    host = layout.endpoint()
    if isinstance(host, Finding):
        findings.append(host)
        return None
    if host:
        return Endpoint(host)
    if network.vip is not None:
        return Endpoint(str(network.vip))
    first = next((node for node in nodes if node.role == "controlplane"), None)
    return Endpoint(str(first.ip)) if first else None  # why it could not be resolved is reported already


def _controlplanes(inventory: Inventory) -> int:
    group = inventory.controlplane
    return len(group.nodes) if group.nodes is not None else group.count or 0


def _parse_endpoint(text: str) -> Endpoint:
    """The schema has checked its form."""
    rest = text.removeprefix("https://").rstrip("/")
    host, colon, port = rest.rpartition(":")
    if colon and port.isdigit() and not rest.endswith("]"):
        return Endpoint(host.strip("[]"), int(port))
    return Endpoint(rest.strip("[]"))
