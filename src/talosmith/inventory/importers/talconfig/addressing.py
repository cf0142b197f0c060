"""Whether the nodes' static addresses can be said in an inventory's own words: one network, one gateway.

Only what renders to the same addresses, routes and links is taken. If a single node needs more than the inventory
can say, the interfaces of all of them go to patches as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_interface, ip_network
from typing import Any

from pydantic import ValidationError

from talosmith.inventory.importers.talconfig.source import Talconfig, TalNode
from talosmith.model.settings import Bond
from talosmith.model.values import IpAddress, IpNetwork, is_interface

BOND = "bond0"  # what an inventory's bond is called

_BOND_KEYS = {
    "interfaces": "interfaces",
    "mode": "mode",
    "lacpRate": "lacp_rate",
    "xmitHashPolicy": "xmit_hash_policy",
    "miimon": "miimon",
}
_CARD_KEYS = {"interface", "bond", "mtu", "vlans", "dhcp"}
_ADDRESS_KEYS = {"addresses", "routes", "vip", "dhcp"}
_SMALLEST_MTU, _LARGEST_MTU = 576, 9216


@dataclass(frozen=True, slots=True)
class StaticNode:
    """A node's address, the keys of its inventory entry, and what of its interfaces they do not say."""

    ip: IpAddress
    network: IpNetwork
    gateway: IpAddress
    keys: Mapping[str, Any]
    vip: IpAddress | None
    link: Mapping[str, Any]  # names the interface (and the VLAN) that has the address, for code that adds to it
    rest: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Addressing:
    """Static addresses of all nodes, or none: then the interfaces are said in patches."""

    node_cidr: IpNetwork | None = None
    gateway: IpAddress | None = None
    vip: IpAddress | None = None
    nodes: Mapping[str, StaticNode] = field(default_factory=dict)


def find_addressing(talconfig: Talconfig) -> Addressing:
    found = {node.name: _static(node) for node in talconfig.nodes}
    nodes = {name: static for name, static in found.items() if static is not None}
    if len(nodes) < len(talconfig.nodes):
        return Addressing()
    first = next(iter(nodes.values()))
    if any((one.network, one.gateway) != (first.network, first.gateway) for one in nodes.values()):
        return Addressing()
    if first.gateway not in first.network:
        return Addressing()
    vip = _common_vip(talconfig, nodes)
    if vip is None:
        nodes = {name: _with_own_vip(static) for name, static in nodes.items()}
    return Addressing(first.network, first.gateway, vip, nodes)


def addresses_of(node: TalNode) -> list[str]:
    return [part.strip() for part in (node.get("ipAddress") or "").split(",") if part.strip()]


def _static(node: TalNode) -> StaticNode | None:
    interfaces = node.get("networkInterfaces") or []
    if not interfaces:
        return None
    card, *others = interfaces
    card = _without_empty(card)
    vlans = card.get("vlans") or []
    keys = _card(card)
    if keys is None:
        return None
    link: dict[str, Any] = {"interface": card["interface"]}
    if not card.get("addresses") and len(vlans) == 1:
        holder, rest = _without_empty(vlans[0]), []
        if set(holder) - _ADDRESS_KEYS - {"vlanId"} or not holder.get("vlanId") or set(card) - _CARD_KEYS:
            return None
        keys["vlan"] = link["vlan"] = holder["vlanId"]
    else:
        holder, rest = card, [{"interface": card["interface"], "vlans": vlans}] if vlans else []
        if set(card) - _CARD_KEYS - _ADDRESS_KEYS:
            return None
    try:
        static = _addressed(node, holder, keys, link)
    except ValueError:
        return None
    return replace(static, rest=[*rest, *others]) if static else None


def _without_empty(part: Mapping[str, Any]) -> dict[str, Any]:
    """Without what Talos takes for nothing."""
    return {key: value for key, value in part.items() if value}


def _card(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """The keys that say which card it is; None if the inventory cannot say it."""
    keys: dict[str, Any] = {}
    if not is_interface(card.get("interface")) or card.get("dhcp"):
        return None
    bond = _without_empty(card["bond"]) if card.get("bond") else None
    if bond is None:
        keys["interface"] = card["interface"]
    elif card["interface"] == BOND and bond.get("mode") and not set(bond) - _BOND_KEYS.keys():
        keys["bond"] = {_BOND_KEYS[key]: value for key, value in bond.items()}
        try:
            Bond.model_validate(keys["bond"])
        except ValidationError:
            return None
    else:
        return None
    if card.get("mtu"):
        if not _SMALLEST_MTU <= card["mtu"] <= _LARGEST_MTU:
            return None
        keys["mtu"] = card["mtu"]
    return keys


def _addressed(
    node: TalNode, holder: Mapping[str, Any], keys: dict[str, Any], link: Mapping[str, Any]
) -> StaticNode | None:
    addresses, routes, vip = holder.get("addresses") or [], holder.get("routes") or [], holder.get("vip") or {}
    if len(addresses) != 1 or not routes or holder.get("dhcp") or set(vip) - {"ip"}:
        return None
    own = ip_interface(addresses[0])
    default, *further = [_without_empty(route) for route in routes]
    everywhere = "0.0.0.0/0" if own.version == 4 else "::/0"
    if default.get("network") != everywhere or set(default) - {"network", "gateway"}:
        return None
    if further:
        keys["routes"] = [_route(route) for route in further]
    if str(own.ip) not in addresses_of(node) or own.network.prefixlen == own.max_prefixlen:
        return None
    return StaticNode(
        ip=own.ip,
        network=own.network,
        gateway=ip_address(default.get("gateway") or ""),
        keys=keys,
        vip=ip_address(vip["ip"]) if vip.get("ip") else None,
        link=link,
    )


def _route(route: Mapping[str, Any]) -> dict[str, Any]:
    if set(route) - {"network", "gateway", "metric"}:
        raise ValueError("a route with more than an inventory can say")
    made = {"to": str(ip_network(route.get("network") or "")), "via": str(ip_address(route.get("gateway") or ""))}
    return made | ({"metric": route["metric"]} if route.get("metric") else {})


def _common_vip(talconfig: Talconfig, nodes: Mapping[str, StaticNode]) -> IpAddress | None:
    """The VIP, if all control planes hold the same one and no worker does."""
    held = {nodes[node.name].vip for node in talconfig.of_role("controlplane")}
    if len(held) != 1 or any(nodes[node.name].vip for node in talconfig.of_role("worker")):
        return None
    vip, one = held.pop(), next(iter(nodes.values()))
    taken = {one.gateway, one.network.network_address, one.network.broadcast_address}
    taken |= {static.ip for static in nodes.values()}
    return vip if vip is not None and vip in one.network and vip not in taken else None


def _with_own_vip(static: StaticNode) -> StaticNode:
    """The VIP as something that a patch adds to the interface."""
    if static.vip is None:
        return static
    vip = {"vip": {"ip": str(static.vip)}}
    name = static.link["interface"]
    if "vlan" in static.link:
        return replace(
            static, rest=[{"interface": name, "vlans": [{"vlanId": static.link["vlan"], **vip}]}, *static.rest]
        )
    first, *others = static.rest or [{}]
    if first.get("interface") == name:  # its VLANs
        return replace(static, rest=[{**first, **vip}, *others])
    return replace(static, rest=[{"interface": name, **vip}, *static.rest])
