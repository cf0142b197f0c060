"""The cells of services and of what leads to them."""

from __future__ import annotations

from typing import Any

from talosmith_lab.kube.tables_columns import NONE, UNKNOWN, UNSET, Obj, age, labels, name_of, selector, some

_SHOWN = 3


def service(item: Obj, now: float) -> list[Any]:
    spec = item.get("spec", {})
    addresses = spec.get("clusterIPs") or []
    ports = ",".join(_port(one) for one in spec.get("ports") or [])
    return [
        name_of(item),
        spec.get("type", ""),
        addresses[0] if addresses else NONE,
        _external(spec, item.get("status", {})),
        ports or NONE,
        age(item, now),
        labels(spec.get("selector")),
    ]


def _port(one: Obj) -> str:
    node = f":{one['nodePort']}" if one.get("nodePort") else ""
    return f"{one.get('port', 0)}{node}/{one.get('protocol', '')}"


def _external(spec: Obj, status: Obj) -> str:
    given = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or NONE
        case "LoadBalancer":
            balancer = balancer_addresses(status)
            return ",".join([*([balancer] if balancer else []), *given]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return UNKNOWN


def balancer_addresses(status: Obj) -> str:
    found = (status.get("loadBalancer") or {}).get("ingress") or []
    return ",".join(sorted({one.get("ip") or one.get("hostname", "") for one in found}))


def endpoints(item: Obj, now: float) -> list[Any]:
    found = []
    for subset in item.get("subsets") or []:
        addresses = [one.get("ip", "") for one in subset.get("addresses") or []]
        ports = subset.get("ports") or []
        if not ports:
            found += addresses
        for port in ports:
            found += [f"[{one}]:{port['port']}" if ":" in one else f"{one}:{port['port']}" for one in addresses]
    return [name_of(item), some(found, _SHOWN, "" if item.get("subsets") else NONE), age(item, now)]


def endpoint_slice(item: Obj, now: float) -> list[Any]:
    ports = [str(one.get("port") or one.get("name") or "*") for one in item.get("ports") or []]
    addresses = [address for one in item.get("endpoints") or [] for address in one.get("addresses") or []]
    told = [some(ports, _SHOWN, UNSET), some(addresses, _SHOWN, UNSET)]
    return [name_of(item), item.get("addressType", ""), *told, age(item, now)]


def ingress(item: Obj, now: float) -> list[Any]:
    spec = item.get("spec", {})
    hosts = [one["host"] for one in spec.get("rules") or [] if one.get("host")]
    return [
        name_of(item),
        spec.get("ingressClassName") or NONE,
        some(hosts, _SHOWN, "*"),
        balancer_addresses(item.get("status", {})),
        "80, 443" if spec.get("tls") else "80",
        age(item, now),
    ]


def ingress_class(item: Obj, now: float) -> list[Any]:
    spec = item.get("spec", {})
    found = spec.get("parameters")
    parameters = NONE
    if found:
        group = f".{found['apiGroup']}" if found.get("apiGroup") else ""
        parameters = f"{found['kind']}{group}/{found['name']}"
    return [name_of(item), spec.get("controller", ""), parameters, age(item, now)]


def network_policy(item: Obj, now: float) -> list[Any]:
    return [name_of(item), selector(item.get("spec", {}).get("podSelector")), age(item, now)]


def service_cidr(item: Obj, now: float) -> list[Any]:
    return [name_of(item), ",".join(item.get("spec", {}).get("cidrs") or []), age(item, now)]


def ip_address(item: Obj, now: float) -> list[Any]:
    parent = item.get("spec", {}).get("parentRef") or {}
    parts = (parent.get(field, "") for field in ("group", "resource", "namespace", "name"))
    return [name_of(item), "/".join(part for part in parts if part), age(item, now)]
