"""What Talos asks of BGPInstanceConfig."""

from __future__ import annotations

from ipaddress import ip_interface
from itertools import combinations
from typing import Any

from talosmith.desired.config.check.findings import Findings, check_kind, error, missing, warning


@check_kind("BGPInstanceConfig")
def _bgp(document: Any) -> Findings:
    yield from missing(document, "name", "localASN")
    if ":" in (document.get("routerID") or ""):
        yield error("routerID", "is not an IPv4 address")
    neighbors = document.get("neighbors") or ()
    if not neighbors:
        yield warning("neighbors", "is empty")
    seen: set[str] = set()
    for index, neighbor in enumerate(neighbors):
        path = f"neighbors[{index}]"
        yield from _neighbor(path, neighbor, document.get("vrf"))
        names = [neighbor[key] for key in ("address", "link") if neighbor.get(key)]
        if len(names) != 1:
            yield error(path, "needs one of address and link")
        elif names[0] in seen:
            yield error(path, "is there twice")
        else:
            seen.update(names)
    yield from _imports(document.get("name") or "", document.get("importRoutes") or ())


def _neighbor(path: str, neighbor: Any, vrf: str | None) -> Findings:
    bfd = neighbor.get("bfd")
    if bfd is not None and vrf:
        yield error(f"{path}.bfd", "does not go with a vrf")
    times = [("holdTime", neighbor.get("holdTime"))]
    times += [(f"bfd.{key}", (bfd or {}).get(key)) for key in ("transmitInterval", "receiveInterval")]
    for key, value in times:
        if (value or "").startswith("-"):
            yield error(f"{path}.{key}", "is negative")


def _imports(name: str, routes: Any) -> Findings:
    sources = [route.get("bgpInstance") or "" for route in routes]
    if not all(sources) or name in sources or len(set(sources)) < len(sources):
        yield error("importRoutes", "has one without another bgpInstance, or two of the same")
    networks = []
    for index, route in enumerate(routes):
        prefixes = route.get("prefixes") or ()
        if not prefixes or not all(prefixes):
            yield error(f"importRoutes[{index}].prefixes", "is empty, or has an empty entry")
        for interface in map(ip_interface, filter(None, prefixes)):
            if interface.ip != interface.network.network_address:
                yield error(f"importRoutes[{index}].prefixes", f"has host bits; the network is {interface.network}")
            networks.append(interface.network)
    if any(one.version == other.version and one.overlaps(other) for one, other in combinations(networks, 2)):
        yield error("importRoutes", "has prefixes that overlap")
