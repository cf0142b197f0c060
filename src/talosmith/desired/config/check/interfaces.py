"""What Talos asks of `machine.network.interfaces`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from talosmith.desired.config.check.findings import Findings, check, complaint, error, warning
from talosmith.desired.config.schema.scalars import ENUMS
from talosmith.govalues import address, prefix, split_host_port

_ENUM_FIELDS = {
    "mode": "bond-mode",
    "xmitHashPolicy": "hash-policy",
    "lacpRate": "lacp-rate",
    "arpValidate": "arp-validate",
    "arpAllTargets": "arp-targets",
    "primaryReselect": "reselect",
    "failOverMac": "fail-over-mac",
    "adSelect": "ad-select",
}
_LACP, _BALANCING = "802.3ad", ("balance-tlb", "balance-alb")
_NOT_IN_MODE: dict[str, Callable[[str], bool]] = {  # field: whether a mode knows it
    "lacpRate": lambda mode: mode == _LACP,
    "adActorSysPrio": lambda mode: mode == _LACP,
    "adUserPortKey": lambda mode: mode == _LACP,
    "arpValidate": lambda mode: mode != _LACP and mode not in _BALANCING,
    "arpInterval": lambda mode: mode != _LACP and mode not in _BALANCING,
    "primary": lambda mode: mode == "active-backup" or mode in _BALANCING,
    "tlbDynamicLb": lambda mode: mode in _BALANCING,
}


@check("@role", "machine.network.interfaces")
def _interfaces(role: str, interfaces: Any) -> Findings:
    owners: dict[str, str] = {}
    path = "machine.network.interfaces"
    if any(one is None for one in interfaces or ()):
        yield error(path, "has null in it")
        return
    for index, one in enumerate(interfaces or ()):
        yield from _membership(f"{path}[{index}]", one, owners)
    for index, one in enumerate(interfaces or ()):
        if role == "worker" and any(
            part and part.get("vip") is not None for part in (one, *(one.get("vlans") or ()))
        ):
            yield error(f"{path}[{index}]", "has a vip, which is for control planes only")
        if not one.get("ignore"):
            yield from _interface(f"{path}[{index}]", one, owners)


def _membership(path: str, one: Any, owners: dict[str, str]) -> Findings:
    """Which interfaces are parts of bonds and bridges; `owners` collects them."""
    bond, bridge = one.get("bond"), one.get("bridge")
    if bond is not None and bridge is not None:
        yield error(path, "cannot be a bond and a bridge")
    if bond is not None and bond.get("interfaces") and bond.get("deviceSelectors"):
        yield error(f"{path}.bond", "has both interfaces and deviceSelectors")
    name = one.get("interface") or ""
    for member in ((bridge if bridge is not None else bond) or {}).get("interfaces") or ():
        if owners.setdefault(member, name) != name:
            yield error(path, f"takes {member}, which belongs to {owners[member] or 'another interface'}")
        owners[member] = name


def _interface(path: str, one: Any, owners: dict[str, str]) -> Findings:
    selector = one.get("deviceSelector")
    if bool(one.get("interface")) == (selector is not None):
        yield error(path, "needs either interface or deviceSelector")
    if selector is not None and not any(value not in (None, "") for value in selector.values()):
        yield error(f"{path}.deviceSelector", "is empty")
    if one.get("bond") is not None:
        yield from _bond(f"{path}.bond", one["bond"])
    if one.get("wireguard") is not None:
        yield from _wireguard(f"{path}.wireguard", one["wireguard"])
    for index, vlan in enumerate(one.get("vlans") or ()):
        if vlan is None:
            yield error(f"{path}.vlans[{index}]", "is null")
        else:
            yield from _addresses(f"{path}.vlans[{index}]", vlan)
    yield from _addresses(path, one)
    if one.get("cidr"):
        yield warning(f"{path}.cidr", "is deprecated: write addresses")
    addressed = one.get("dhcp") or one.get("cidr") or one.get("addresses") or one.get("vip") is not None
    if (one.get("interface") or "") in owners and addressed:
        yield error(path, "is part of a bond or bridge and cannot have addresses itself")
    if one.get("vip") is not None:
        yield from complaint(f"{path}.vip.ip", ip_address, one["vip"].get("ip"))
    for index, route in enumerate(one.get("routes") or ()):
        yield from _route(f"{path}.routes[{index}]", route or {})


def _addresses(path: str, one: Any) -> Findings:
    if one.get("addresses") and one.get("cidr"):
        yield error(path, "has both cidr and addresses")
    for entry in (*(one.get("addresses") or ()), *([one["cidr"]] if one.get("cidr") else ())):
        yield from complaint(f"{path}.addresses", prefix if "/" in entry else ip_address, entry)


def _route(path: str, route: Any) -> Findings:
    if not route.get("network") and not route.get("gateway"):
        yield error(path, "needs a network or a gateway")
    for key, read in (("network", prefix), ("gateway", ip_address), ("source", ip_address)):
        if route.get(key):
            yield from complaint(f"{path}.{key}", read, route[key])


def _bond(path: str, bond: Any) -> Findings:
    for key, enum in _ENUM_FIELDS.items():
        if bond.get(key) and bond[key] not in ENUMS[enum]:
            yield error(f"{path}.{key}", f"is none of {', '.join(ENUMS[enum])}")
    mode = bond.get("mode") or ENUMS["bond-mode"][0]
    mode = mode if mode in ENUMS["bond-mode"] else ENUMS["bond-mode"][0]
    for key, known in _NOT_IN_MODE.items():
        if bond.get(key) and not known(mode):
            yield error(f"{path}.{key}", f"does not go with the mode {mode}")
    if (bond.get("packetsPerSlave") or 0) > 1 and mode != "balance-rr":
        yield error(f"{path}.packetsPerSlave", f"does not go with the mode {mode}")
    for key in ("arpIPTarget", "adActorSystem"):
        if bond.get(key):
            yield error(f"{path}.{key}", "is not supported")
    miimon = bond.get("miimon") or 0
    for key in ("updelay", "downdelay"):
        delay = bond.get(key) or 0
        if delay % miimon if miimon else delay:
            yield error(f"{path}.{key}", "is not a multiple of miimon")


def _wireguard(path: str, wireguard: Any) -> Findings:
    yield from complaint(f"{path}.privateKey", check_wireguard_key, wireguard.get("privateKey"))
    for index, peer in enumerate(wireguard.get("peers") or ()):
        peer_path = f"{path}.peers[{index}]"
        if peer is None:
            yield error(peer_path, "is null")
            continue
        yield from complaint(f"{peer_path}.publicKey", check_wireguard_key, peer.get("publicKey"))
        if peer.get("endpoint"):
            yield from complaint(f"{peer_path}.endpoint", _check_peer, peer["endpoint"])
        for entry in peer.get("allowedIPs") or ():
            yield from complaint(f"{peer_path}.allowedIPs", prefix, entry)


def _check_peer(endpoint: str) -> None:
    host, _ = split_host_port(endpoint)
    if ":" in host:
        address(host)


def check_wireguard_key(key: str) -> None:
    try:
        size = len(base64.b64decode(key, validate=True))
    except (binascii.Error, ValueError):
        size = 0
    if size != 32:
        raise ValueError("is not a key of 32 bytes in base64")


def ip_address(text: str) -> str:
    """An address, and no zone behind it."""
    if "%" in text:
        raise ValueError("is not an IP address")
    return address(text)
