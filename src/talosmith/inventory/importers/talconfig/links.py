"""talhelper's `networkInterfaces` for Talos 1.12 and later: one document for each part of each card.

The names and the selectors are those that talhelper gives, because a link that is called otherwise is another link
to Talos.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

Document = dict[str, Any]
Interface = Mapping[str, Any]

# Names of a bond's settings that are called otherwise in its document; all others keep theirs.
_BOND_RENAMED = {
    "mode": "bondMode",
    "resendIgmp": "resendIGMP",
    "tlbDynamicLb": "tlbLogicalLb",
    "peerNotifyDelay": "peerNotifDelay",
    "arpIPTarget": "arpIpTargets",
}
_BOND_MEMBERS = ("interfaces", "deviceSelectors")
_BOND_WITHOUT_DOCUMENT = ("adActorSystem", "primary")
_WITHOUT_DOCUMENT = (
    "ignore", "dummy", "cidr", "bridgePort.master", "vip.equinixMetal", "vip.hcloud", "dhcpOptions.duidv6",
    *(f"bond.{key}" for key in _BOND_WITHOUT_DOCUMENT),
)  # fmt: skip
_SELECTED_BY = {
    "hardwareAddr": "mac(link.hardware_addr)",
    "permanentAddr": "mac(link.permanent_addr)",
    "busPath": "link.bus_path",
    "driver": "link.driver",
    "pciID": "link.pciid",
}
_ALIASES = {"bond": "bond", "bridge": "br", "wireguard": "wg", "": "ethSel"}
_EVERYWHERE = ("0.0.0.0/0", "::/0", "")


def link_documents(interfaces: Sequence[Interface]) -> list[Document]:
    names = _names(interfaces)
    return [document for one, name in zip(interfaces, names, strict=True) for document in _documents(one, name)]


def without_document(interface: Interface) -> Iterator[str]:
    """Keys that say something and that talhelper has no document for."""
    yield from _given_of(interface, _WITHOUT_DOCUMENT)
    for vlan in interface.get("vlans") or ():
        if not vlan.get("vlanId"):
            yield "vlans without vlanId"
        yield from (f"vlans.{key}" for key in _given_of(vlan, _WITHOUT_DOCUMENT))


def _given_of(part: Mapping[str, Any], paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        section, _, key = path.rpartition(".")
        if ((part.get(section) or {}) if section else part).get(key):
            yield path


def _names(interfaces: Sequence[Interface]) -> list[str]:
    """A card that is chosen by what it is has no name of its own; it is called by its kind and a number."""
    taken = {one.get("interface") for one in interfaces}
    names: list[str] = []
    next_number = dict.fromkeys(_ALIASES.values(), 0)
    for one in interfaces:
        name = one.get("interface") or ""
        if not name and one.get("deviceSelector") is not None:
            prefix = _ALIASES[
                next((kind for kind in ("bond", "bridge", "wireguard") if one.get(kind) is not None), "")
            ]
            while not name or name in taken:
                name = f"{prefix}{next_number[prefix]}"
                next_number[prefix] += 1
            taken.add(name)
        names.append(name)
    return names


def _documents(one: Interface, name: str) -> Iterator[Document]:
    yield from _alias(name, one.get("deviceSelector"))
    bond = one.get("bond")
    for number, selector in enumerate((bond or {}).get("deviceSelectors") or ()):
        yield from _alias(f"{name}-m{number}", selector)
    if bond is not None:
        yield _document("BondConfig", name, **_bond(bond, name), **_settings(one))
    if one.get("dhcp"):
        yield from _dhcp(name, one.get("dhcpOptions"))
    if (one.get("vip") or {}).get("ip"):
        yield _document("Layer2VIPConfig", one["vip"]["ip"], link=name)
    special = [kind for kind in ("bond", "bridge", "wireguard") if one.get(kind) is not None]
    if not special and _settings(one):
        yield _document("LinkConfig", name, **_settings(one))
    for vlan in one.get("vlans") or ():
        yield from _vlan(vlan, name)
    if one.get("wireguard") is not None:
        yield _document("WireguardConfig", name, **_given(one["wireguard"]), **_settings(one))
    if one.get("bridge") is not None:
        yield _document("BridgeConfig", name, **_bridge(one["bridge"]), **_settings(one))


def _alias(name: str, selector: Mapping[str, Any] | None) -> Iterator[Document]:
    selected = selector or {}
    conditions = [f'glob("{selected[key]}", {what})' for key, what in _SELECTED_BY.items() if selected.get(key)]
    if selected.get("physical") is not None:
        conditions.append(f"link.type {'==' if selected['physical'] else '!='} 1")
    if conditions:
        yield _document("LinkAliasConfig", name, selector={"match": " && ".join(conditions)})


def _bond(bond: Mapping[str, Any], name: str) -> Document:
    members = [*(bond.get("interfaces") or ())]
    members += [f"{name}-m{number}" for number in range(len(bond.get("deviceSelectors") or ()))]
    fields: Document = {"links": members} if members else {}
    for key, value in bond.items():
        if key not in (*_BOND_MEMBERS, *_BOND_WITHOUT_DOCUMENT) and (value or key == "useCarrier"):
            fields[_BOND_RENAMED.get(key, key)] = value
    return fields


def _bridge(bridge: Mapping[str, Any]) -> Document:
    fields: Document = {"links": list(bridge["interfaces"])} if bridge.get("interfaces") else {}
    if (bridge.get("stp") or {}).get("enabled") is not None:
        fields["stp"] = {"enabled": bridge["stp"]["enabled"]}
    if (bridge.get("vlan") or {}).get("vlanFiltering"):
        fields["vlan"] = {"filtering": True}
    return fields


def _vlan(vlan: Mapping[str, Any], parent: str) -> Iterator[Document]:
    if not vlan.get("vlanId"):
        return
    name = f"{parent}.{vlan['vlanId']}"
    yield _document("VLANConfig", name, vlanID=vlan["vlanId"], parent=parent, **_settings(vlan))
    if vlan.get("dhcp"):
        yield from _dhcp(name, vlan.get("dhcpOptions"))
    if (vlan.get("vip") or {}).get("ip"):
        yield _document("Layer2VIPConfig", vlan["vip"]["ip"], link=name)


def _dhcp(name: str, options: Mapping[str, Any] | None) -> Iterator[Document]:
    given = options or {}
    metric = {"routeMetric": given["routeMetric"]} if given.get("routeMetric") else {}
    if given.get("ipv4", True):
        yield _document("DHCPv4Config", name, **metric)
    if given.get("ipv6"):
        yield _document("DHCPv6Config", name, **metric)


def _settings(one: Mapping[str, Any]) -> Document:
    fields: Document = {}
    if one.get("mtu"):
        fields["mtu"] = one["mtu"]
    if one.get("addresses"):
        fields["addresses"] = [{"address": _prefix(address)} for address in one["addresses"]]
    if one.get("routes"):
        fields["routes"] = [_route(route) for route in one["routes"]]
    return fields


def _prefix(address: str) -> str:
    """An address without a length is a network of its own."""
    if "/" in address:
        return address
    try:
        return f"{address}/{ip_address(address).max_prefixlen}"
    except ValueError:
        return address  # reported when the document is checked


def _route(route: Mapping[str, Any]) -> Document:
    to = route.get("network") or ""
    destination = {} if to in _EVERYWHERE else {"destination": to}
    return destination | _given({key: route.get(key) for key in ("gateway", "source", "metric", "mtu")})


def _given(fields: Mapping[str, Any]) -> Document:
    return {key: value for key, value in fields.items() if value}


def _document(kind: str, name: str, **fields: Any) -> Document:
    return {"apiVersion": "v1alpha1", "kind": kind, "name": name, **fields}
