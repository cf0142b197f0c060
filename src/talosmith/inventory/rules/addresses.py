"""Addresses: each used once, and inside of a network that traffic for them reaches."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.parse import Path
from talosmith.inventory.resolve import Place, Resolved
from talosmith.inventory.rules.identity import twins
from talosmith.model.cluster import Node
from talosmith.model.values import IpAddress


def addresses_differ(resolved: Resolved) -> Iterator[Finding]:
    for first, first_place, node, place in twins(resolved, lambda node: node.ip):
        if first.name != node.name and not _both_counted(first, first_place, node, place):
            what = f"`{node.name}` and `{first.name}` have the same address {node.ip}"
            yield error(place.of("ip"), what, fix="change the `ip` of one of them")


def offsets_keep_apart(resolved: Resolved) -> Iterator[Finding]:
    for first, first_place, node, place in twins(resolved, lambda node: node.ip):
        if _both_counted(first, first_place, node, place):
            network = resolved.inventory.network
            why = f"control planes count from {network.cp_ip_offset}, workers from {network.worker_ip_offset}"
            what = f"the address offsets overlap: `{first.name}` and `{node.name}` both get {node.ip}"
            yield error(("network", "worker_ip_offset"), what, why, "move them further apart")
            return  # all further pairs have the same cause


def _both_counted(first: Node, first_place: Place, node: Node, place: Place) -> bool:
    return first.role != node.role and not first_place.gives("ip") and not place.gives("ip")


def addresses_are_usable(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.cluster.network
    if network.node_cidr is None:
        return
    layout = resolved.layout
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        subnet = node.subnet or network.node_cidr
        path, ip = place.of("ip"), node.ip
        if ip not in subnet:
            fix = f"an address from {subnet[1]} to {subnet[-2]}" if subnet.num_addresses > 3 else ""
            yield error(path, f"`{node.name}`: {ip} is outside of the node network {subnet}", fix=fix)
        elif ip == subnet.network_address:
            yield error(path, f"`{node.name}`: {ip} is the address of the network {subnet} itself")
        elif ip.version == 4 and ip == subnet.broadcast_address and subnet.prefixlen < 31:
            yield error(path, f"`{node.name}`: {ip} is the broadcast address of {subnet}")
        elif any(kept := layout.keeps(ip, subnet)):
            yield error(path, f"`{node.name}`: {ip} {kept[0]}", kept[1])
        elif ip == network.gateway:
            yield error(path, f"`{node.name}`: {ip} is the gateway's address", fix="change the node's `ip`")


def gateway_is_in_the_network(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.cluster.network
    given = resolved.inventory.network.gateway
    if given is None or network.node_cidr is None:
        return
    if given not in network.node_cidr:
        what = f"the gateway {given} is outside of `network.node_cidr` {network.node_cidr}"
        yield error(("network", "gateway"), what, "nodes cannot reach it")
    elif given in (network.node_cidr.network_address, network.node_cidr.broadcast_address):
        yield error(
            ("network", "gateway"), f"the gateway {given} is the network or broadcast address of {network.node_cidr}"
        )


def vip_is_free(resolved: Resolved) -> Iterator[Finding]:
    network, path = resolved.cluster.network, ("network", "vip")
    vip = network.vip
    if vip is None:
        return
    if network.node_cidr is not None and vip not in network.node_cidr:
        what = f"the VIP {vip} is outside of `network.node_cidr` {network.node_cidr}"
        yield error(path, what, "control planes announce the VIP by ARP, on their own network only")
    elif network.node_cidr is not None and vip in (
        network.node_cidr.network_address,
        network.node_cidr.broadcast_address,
    ):
        yield error(path, f"the VIP {vip} is the network or broadcast address of {network.node_cidr}")
    if vip == network.gateway:
        yield error(path, f"the VIP {vip} is the gateway's address", fix="choose a free address")
    for node in resolved.cluster.nodes:
        if node.ip == vip:
            why = "the VIP moves between control planes: it must not be an address of a node"
            yield error(path, f"the VIP {vip} is the address of `{node.name}`", why, "choose a free address")


def service_addresses_are_free(resolved: Resolved) -> Iterator[Finding]:
    """The gateways' addresses are announced for Services, so no machine may have them."""
    gateways = resolved.cluster.services.gateways
    if gateways is None:
        return
    network, bgp = resolved.cluster.network, resolved.cluster.services.cilium.bgp
    taken: dict[IpAddress, str] = {node.ip: f"`{node.name}`" for node in resolved.cluster.nodes}
    if network.vip is not None:
        taken[network.vip] = "the VIP"
    if network.gateway is not None:
        taken[network.gateway] = "the network's gateway"
    for key in ("internal", "external", "dns"):
        address: IpAddress | None = getattr(gateways, key)
        path: Path = ("gateways", key)
        if address is None:
            continue
        if address in taken:
            yield error(path, f"{address} is already {taken[address]}", fix="choose a free address")
        taken.setdefault(address, f"gateways.{key}")
        if bgp is None and network.node_cidr is not None and address not in network.node_cidr:
            what = f"{address} is outside of `network.node_cidr` {network.node_cidr}"
            yield error(path, what, "without BGP no other network has a route to it", "set `cilium.bgp`, or move it")


def pool_is_free(resolved: Resolved) -> Iterator[Finding]:
    bgp = resolved.cluster.services.cilium.bgp
    pool = bgp.lb_pool_cidr if bgp is not None else None
    for node in resolved.cluster.nodes:
        if pool is not None and node.ip in pool:
            what = f"`{node.name}` ({node.ip}) is inside of the load balancer pool {pool}"
            yield error(("cilium", "bgp", "lb_pool_cidr"), what, "a Service would get the node's address")
