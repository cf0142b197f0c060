"""Names, MAC addresses, VMIDs and fingerprints are unique."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.numbers import number_of
from talosmith.inventory.resolve import Place, Resolved
from talosmith.model.cluster import Node


def names_differ(resolved: Resolved) -> Iterator[Finding]:
    for _first, _, node, place in twins(resolved, lambda node: node.name):
        yield error(place.of("name"), f"two nodes have the name `{node.name}`", fix="rename one of them")


def macs_differ(resolved: Resolved) -> Iterator[Finding]:
    yield from _same(resolved, "mac_addr", "MAC address", lambda node: node.mac)


def vmids_differ(resolved: Resolved) -> Iterator[Finding]:
    yield from _same(resolved, "vmid", "VMID", lambda node: node.vmid)


def fingerprints_differ(resolved: Resolved) -> Iterator[Finding]:
    for first, _, node, place in twins(resolved, lambda node: node.fingerprint):
        if first.name != node.name:
            what = f"`{node.name}` and `{first.name}` have the same fingerprint"
            why = "each machine generates its own certificate when it boots into maintenance mode"
            yield error(place.of("fingerprint"), what, why, "read both from the consoles again")


def twins(resolved: Resolved, value: Callable[[Node], Hashable | None]) -> Iterator[tuple[Node, Place, Node, Place]]:
    """Pairs of nodes that share a value: the first that has it, and each further one."""
    seen: dict[Hashable, tuple[Node, Place]] = {}
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        found = value(node)
        if found is None:
            continue
        if found in seen:
            yield *seen[found], node, place
        else:
            seen[found] = (node, place)


def _same(resolved: Resolved, key: str, noun: str, value: Callable[[Node], Hashable | None]) -> Iterator[Finding]:
    for first, first_place, node, place in twins(resolved, value):
        if first.name == node.name:
            continue  # nodes of one name have all values in common: reported once
        why = ""
        if not first_place.gives(key) and not place.gives(key):
            number = number_of(node.name)
            why = "it follows from the name's hash" if number is None else f"both names end in {number}"
        what = f"`{node.name}` and `{first.name}` have the same {noun} {value(node)}"
        yield error(place.of(key), what, why, f"set `{key}` of one of them")
