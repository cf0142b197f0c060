"""Networks: none overlaps another, and the pod network is large enough."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.parse import Path
from talosmith.inventory.resolve import Resolved
from talosmith.model.values import IpNetwork

NODE_MASK = {4: 24, 6: 64}  # the prefix length of a node's pod subnet


def networks_keep_apart(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.cluster.network
    all_of_them: list[tuple[str, Path, IpNetwork | None]] = [
        ("service", ("network", "svc_cidr"), network.svc_cidr),
        ("pod", ("network", "pod_cidr"), network.pod_cidr),
        ("node", resolved.layout.node_network, network.node_cidr),
    ]
    for (noun, _, one), (other_noun, path, other) in combinations(all_of_them, 2):
        if one is None or other is None or one.version != other.version:
            continue
        if one.overlaps(other):
            what = f"the {other_noun} network {other} overlaps the {noun} network {one}"
            yield error(path, what, "an address in both is ambiguous", "choose networks that do not overlap")
    if network.node_cidr is None:
        yield from _nodes_elsewhere(resolved)


def _nodes_elsewhere(resolved: Resolved) -> Iterator[Finding]:
    """Without a node network, compare the addresses of the nodes themselves."""
    network = resolved.cluster.network
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        for noun, other in (("pod", network.pod_cidr), ("service", network.svc_cidr)):
            if node.ip in other:
                what = f"`{node.name}` ({node.ip}) is inside of the {noun} network {other}"
                yield error(place.of("ip"), what, "an address in both is ambiguous")


def pods_have_room(resolved: Resolved) -> Iterator[Finding]:
    pods, count = resolved.cluster.network.pod_cidr, len(resolved.cluster.nodes)
    mask = NODE_MASK[pods.version]
    room = 1 << (mask - pods.prefixlen) if pods.prefixlen <= mask else 0
    if room < count:
        prefix = mask - (count - 1).bit_length()
        what = f"the pod network {pods} has room for {room} nodes, the cluster has {count}"
        yield error(("network", "pod_cidr"), what, f"each node gets a /{mask} of it", f"use a /{prefix} or larger")
