"""Existing machines: only the inventory has their disks and network interfaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.layouts.layout import Layout
from talosmith.model.providers import Metal

if TYPE_CHECKING:
    from talosmith.inventory.resolve import Resolved

LARGEST_SEARCH = 1024  # addresses


class MetalLayout(Layout[Metal]):
    settings = frozenset({"fingerprint"})
    dhcp_advice = "each machine must have its `ip` already, and keep it"

    def knows_its_disk(self, resolved: Resolved) -> Iterator[Finding]:
        for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
            if node.install_disk is None:
                sized = node.disk_mib is not None
                what = f"`{node.name}`: no install disk"
                why = "a size does not identify a disk" if sized else ""
                fix = "set `disk` to a device (/dev/nvme0n1) or to the disk's serial number, or use `disk_selector`"
                yield error(place.of("disk"), what, why, fix)

    def knows_its_card(self, resolved: Resolved) -> Iterator[Finding]:
        """The MAC address of a machine that exists already is known from the inventory alone."""
        if resolved.cluster.network.addressing != "static":
            return
        for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
            if node.mac is None and node.interface is None and node.bond is None:
                what = f"`{node.name}`: no network interface for the address {node.ip}"
                yield error(place.path, what, fix="set `mac_addr`, or `interface` to its name")

    def search_is_bounded(self, resolved: Resolved) -> Iterator[Finding]:
        """A packet to each address is polite in a small network only; machines are known by their MAC addresses."""
        network = resolved.cluster.network.node_cidr
        if not self.section.search:
            return
        if network is None:
            what, fix = "no network to search", "set `network.node_cidr`, or remove `search`"
            yield error(("metal", "search"), what, fix=fix)
        elif network.version != 4 or network.num_addresses > LARGEST_SEARCH:
            what = f"{network} cannot be searched: it is not an IPv4 network of at most {LARGEST_SEARCH} addresses"
            yield error(("metal", "search"), what, fix="reserve each machine's `ip` by DHCP, and remove `search`")
        elif all(node.mac is None for node in resolved.cluster.nodes):
            yield error(("metal", "search"), "no node has a MAC address to search for", fix="set `mac_addr`")

    rules = (
        knows_its_disk,
        knows_its_card,
        search_is_bounded,
    )
