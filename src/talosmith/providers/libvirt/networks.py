"""A libvirt network of our own, for hosts that have none for the nodes: addresses are static, so it has no DHCP."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Literal
from xml.etree import ElementTree

from talosmith.model.machines import Owner
from talosmith.providers.libvirt.domain import NAMESPACE
from talosmith.providers.libvirt.xml import attribute, child, parse, root, text_of

Mode = Literal["nat", "isolated"]


@dataclass(frozen=True, slots=True)
class Network:
    name: str
    owner: Owner | None  # None: foreign
    mode: str
    address: str  # of the host in it
    prefix: int

    @property
    def bridge(self) -> str:
        """The kernel takes 15 characters; two networks must not get the same."""
        whose = f"{self.name} {self.owner}"
        return f"tsm-{hashlib.sha256(whose.encode()).hexdigest()[:10]}"


def wanted(name: str, owner: Owner, mode: Mode, cidr: IPv4Network | IPv6Network, gateway: str) -> Network:
    return Network(name, owner, mode, gateway or str(cidr[1]), cidr.prefixlen)


def render_network(network: Network) -> str:
    tree = root("network")
    child(tree, "name", network.name)
    if network.owner is not None:
        child(child(tree, "metadata"), f"{{{NAMESPACE}}}network", cluster=network.owner.cluster, id=network.owner.id)
    if network.mode == "nat":
        child(tree, "forward", mode="nat")
    child(tree, "bridge", name=network.bridge, stp="off", delay=0)
    family = "ipv6" if ":" in network.address else "ipv4"
    child(tree, "ip", family=family, address=network.address, prefix=network.prefix)
    return text_of(tree)


def read_network(text: str) -> Network:
    tree = parse(text)
    ours = tree.find(f"metadata/{{{NAMESPACE}}}network")
    ip = tree.find("ip")
    ip = ElementTree.Element("ip") if ip is None else ip
    return Network(
        name=tree.findtext("name", ""),
        owner=None if ours is None else Owner(ours.get("cluster", ""), ours.get("id", "")),
        mode=attribute(tree, "forward", "mode") or "isolated",
        address=ip.get("address", ""),
        prefix=int(ip.get("prefix") or 0),
    )
