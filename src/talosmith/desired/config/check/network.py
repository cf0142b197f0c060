"""What Talos asks of the documents about the network."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import Any

from talosmith.desired.config.cel import check_expression
from talosmith.desired.config.check.findings import Findings, check_kind, complaint, error, missing, warning
from talosmith.desired.config.check.interfaces import check_wireguard_key, ip_address
from talosmith.desired.config.schema.gourl import parse_url
from talosmith.govalues import address, address_or_prefix, prefix

_RESERVED_PRIORITIES = (0, 32500, 32766, 32767)
_RESERVED_TABLES = ("unspec", "local", "main", "default")
_LONGEST_LINK_NAME = 15
_UNSPECIFIED = ("0.0.0.0", "::")  # noqa: S104 - no place to listen at, but addresses to refuse


def _is_unspecified(text: str) -> bool:
    return text.partition("/")[0].partition("%")[0] in _UNSPECIFIED


@check_kind("LinkConfig", "BridgeConfig", "DummyLinkConfig")
def _link(document: Any) -> Findings:
    yield from missing(document, "name")
    yield from _addresses_and_routes(document)


def _addresses_and_routes(document: Any, path: str = "") -> Findings:
    for index, one in enumerate(document.get("addresses") or ()):
        if not one.get("address") or _is_unspecified(one["address"]):
            yield error(f"{path}addresses[{index}].address", "is not an address of a host with its prefix length")
    for index, route in enumerate(document.get("routes") or ()):
        for key in ("destination", "gateway", "source"):
            if route.get(key) and _is_unspecified(route[key]):
                yield error(
                    f"{path}routes[{index}].{key}", "is the unspecified address; leave it out for a default route"
                )


@check_kind("BondConfig")
def _bond(document: Any) -> Findings:
    yield from _link(document)
    if not document.get("links"):
        yield error("links", "is empty")
    mode = document.get("bondMode")
    if mode is None:
        yield error("bondMode", "is missing")
    if mode == "802.3ad":
        for key in ("miimon", "updelay", "downdelay"):
            if document.get(key) is None:
                yield warning(key, "is not set, and bonds of mode 802.3ad want it")


@check_kind("VLANConfig")
def _vlan(document: Any) -> Findings:
    yield from _link(document)
    if not 1 <= (document.get("vlanID") or 0) <= 4094:
        yield error("vlanID", "is not between 1 and 4094")
    if not document.get("parent"):
        yield error("parent", "is missing")


@check_kind("VRFConfig")
def _vrf(document: Any) -> Findings:
    yield from _link(document)
    if (document.get("table") or "unspec") in _RESERVED_TABLES:
        yield error("table", f"is missing, or one of the reserved {', '.join(_RESERVED_TABLES[1:])}")


@check_kind("VethConfig")
def _veth(document: Any) -> Findings:
    peer = document.get("peer") or {}
    for path, one in (("", document), ("peer.", peer)):
        yield from complaint(f"{path}name", _check_link_name, one.get("name"))
        yield from _addresses_and_routes(one, path)
    if document.get("name") == peer.get("name"):
        yield error("peer.name", "is the name of the link itself")


def _check_link_name(text: str) -> None:
    wrong = text in ("", ".", "..") or len(text.encode()) > _LONGEST_LINK_NAME or set("/:") & set(text)
    if wrong or not text.isprintable() or " " in text:
        raise ValueError(f"is not a link's name of 1 to {_LONGEST_LINK_NAME} bytes")


@check_kind("WireguardConfig")
def _wireguard(document: Any) -> Findings:
    yield from _link(document)
    yield from complaint("privateKey", check_wireguard_key, document.get("privateKey"))
    if not 0 <= (document.get("listenPort") or 0) <= 65535:
        yield error("listenPort", "is not between 0 and 65535")
    for index, peer in enumerate(document.get("peers") or ()):
        yield from complaint(f"peers[{index}].publicKey", check_wireguard_key, peer.get("publicKey"))
        if peer.get("presharedKey"):
            yield from complaint(f"peers[{index}].presharedKey", check_wireguard_key, peer["presharedKey"])
        yield from _not_negative(peer, "persistentKeepaliveInterval", f"peers[{index}].")


def _not_negative(document: Any, key: str, path: str = "") -> Findings:
    if (document.get(key) or "0s").startswith("-"):
        yield error(path + key, "is negative")


@check_kind("LinkAliasConfig")
def _link_alias(document: Any) -> Findings:
    name = document.get("name") or ""
    if not name:
        yield from missing(document, "name")
    elif "%" in name and not re.fullmatch("[^%]+%d", name):
        yield error("name", "may have a %d at its end and no other %")
    yield from complaint(
        "selector.match", partial(check_expression, environment="link"), _match(document, "selector")
    )


def _match(document: Any, *path: str) -> str:
    for key in path:
        document = document.get(key) or {}
    return document.get("match") or ""


@check_kind("DHCPv4Config", "DHCPv6Config")
def _dhcp(document: Any) -> Findings:
    yield from missing(document, "name")
    if bool(document.get("duidRaw")) != (document.get("clientIdentifier") == "duid"):
        yield error("duidRaw", "goes with clientIdentifier: duid, each with the other")


@check_kind("HostnameConfig")
def _hostname(document: Any) -> Findings:
    auto, name = document.get("auto"), document.get("hostname") or ""
    if auto is None and not name:
        yield error("hostname", "is missing, and there is no auto either")
    if auto not in (None, "off") and name:
        yield error("hostname", 'needs auto: "off" beside it')
    if auto == "talos-addr":
        yield error("auto", "can be off or stable here")
    if name and (len(name.encode()) > 253 or not 1 <= len(name.partition(".")[0].encode()) <= 63):
        yield error("hostname", "is too long, or its first part is not 1 to 63 characters")


@check_kind("TimeSyncConfig")
def _time_sync(document: Any) -> Findings:
    yield from _not_negative(document, "bootTimeout")
    if document.get("ntp") is not None and document.get("ptp") is not None:
        yield error("ptp", "cannot stand beside ntp")


@check_kind("TimeSyncConfig", since=(1, 14))
def _secure_time(document: Any) -> Findings:
    ntp = document.get("ntp") or {}
    if ntp.get("useNTS") and any(map(_is_ip_address, ntp.get("servers") or ())):
        yield error("ntp.servers", "has an IP address, but useNTS needs names")


def _is_ip_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


@check_kind("ResolverConfig", since=(1, 14))
def _resolver(document: Any) -> Findings:
    host_dns = document.get("hostDNS") or {}
    for key in ("forwardKubeDNSToHost", "resolveMemberNames"):
        if host_dns.get(key) and not host_dns.get("enabled"):
            yield error(f"hostDNS.{key}", "needs hostDNS.enabled")
    servers = document.get("nameservers") or ()
    encrypted = [(one.get("protocol") or "Do53") != "Do53" for one in servers]
    for index, (one, is_encrypted) in enumerate(zip(servers, encrypted, strict=True)):
        if not one.get("address"):
            yield error(f"nameservers[{index}].address", "is missing")
        if bool(one.get("tlsServerName")) != is_encrypted:
            yield error(f"nameservers[{index}].tlsServerName", "goes with the protocols DoT and DoH, which need it")
    if encrypted and all(encrypted):
        yield warning("nameservers", "are all encrypted: without the right time, names of NTP servers do not resolve")


@check_kind("StaticHostConfig")
def _static_host(document: Any) -> Findings:
    yield from complaint("name", address, document.get("name"))
    if not document.get("hostnames"):
        yield error("hostnames", "is empty")


@check_kind("Layer2VIPConfig", "HCloudVIPConfig")
def _vip(document: Any) -> Findings:
    yield from complaint("name", address, document.get("name"))
    for key in ("link", "apiToken") if document["kind"] == "HCloudVIPConfig" else ("link",):
        if not document.get(key):
            yield error(key, "is missing")


@check_kind("BlackholeRouteConfig")
def _blackhole(document: Any) -> Findings:
    yield from complaint("name", prefix, document.get("name"))


@check_kind("RoutingRuleConfig")
def _routing_rule(document: Any) -> Findings:
    name = document.get("name") or ""
    if not re.fullmatch("[0-9]+", name) or int(name) >= 1 << 32 or int(name) in _RESERVED_PRIORITIES:
        yield error("name", "is not a priority between 1 and 32765 (32500 is KubeSpan's)")
    action = document.get("action") or "unspec"
    if (document.get("table") or "unspec") == "unspec" and action in ("unspec", "unicast"):
        yield error("table", "is missing, and the action is none that does without it")
    if document.get("fwMask") and not document.get("fwMark"):
        yield error("fwMask", "needs fwMark")


@check_kind("TCPProbeConfig", "HTTPProbeConfig")
def _probe(document: Any) -> Findings:
    if document["kind"] == "TCPProbeConfig":
        yield from missing(document, "name", "endpoint")
    else:
        yield from missing(document, "name")
        url = parse_url(document.get("url") or "")
        if url.scheme not in ("http", "https") or url.opaque or not url.hostname:
            yield error("url", "is not an http:// or https:// address with a host")
    yield from _not_negative(document, "timeout")
    yield from _not_negative(document, "interval")
    if (document.get("failureThreshold") or 0) < 0:
        yield error("failureThreshold", "is negative")


@check_kind("EthernetConfig")
def _ethernet(document: Any) -> Findings:
    return missing(document, "name")


@check_kind("NetworkRuleConfig")
def _rule(document: Any) -> Findings:
    yield from missing(document, "name")
    ports = (document.get("portSelector") or {}).get("ports") or []
    if not ports:
        yield error("portSelector.ports", "is empty")
    ranges = sorted([_bounds(one) for one in ports], key=lambda bounds: bounds[0])
    if any(low > high for low, high in ranges):
        yield error("portSelector.ports", "has a range that ends before it starts")
    if any(after[0] <= before[1] for before, after in pairwise(ranges)):
        yield error("portSelector.ports", "has ranges that overlap")
    for index, one in enumerate(document.get("ingress") or ()):
        if not one.get("subnet"):
            yield error(f"ingress[{index}].subnet", "is missing")


def _bounds(ports: int | str) -> tuple[int, int]:
    low, _, high = str(ports).partition("-")
    return int(low), int(high or low)


@check_kind("KubeSpanConfig")
def _kubespan(document: Any) -> Findings:
    mtu = document.get("mtu")
    if mtu is not None and mtu < 1280:
        yield error("mtu", "is less than 1280")
    for entry in (document.get("filters") or {}).get("endpoints") or ():
        yield from complaint("filters.endpoints", address_or_prefix, entry.removeprefix("!"))
