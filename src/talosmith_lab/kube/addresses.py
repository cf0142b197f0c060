"""The addresses and ports of services, each given once."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from talosmith_lab.clock import drawn
from talosmith_lab.kube.errors import invalid, invalid_value
from talosmith_lab.kube.kinds import Obj, find

if TYPE_CHECKING:
    from talosmith_lab.kube.cluster import Kubernetes

SERVICE = find("v1", "Service")
RANGE = "10.96.0.0/12"  # what Talos gives services unless told otherwise
_NODE_PORTS = range(30000, 32768)


def assign_addresses(kubernetes: Kubernetes, service: Obj, old: Obj | None) -> None:
    spec = service.get("spec")
    if spec is None:
        return
    kind = spec.get("type", "ClusterIP")
    if kind == "ExternalName":
        return
    spec.setdefault("internalTrafficPolicy", "Cluster")
    before = (old or {}).get("spec") or {}
    if not spec.get("clusterIP"):
        spec["clusterIP"] = before.get("clusterIP") or _free_address(kubernetes, service)
    elif old is None and spec["clusterIP"] != "None":
        _check_free(kubernetes, service, spec["clusterIP"])
    spec["clusterIPs"] = [spec["clusterIP"]] if len(spec.get("clusterIPs") or ()) < 2 else spec["clusterIPs"]
    family = "IPv6" if ":" in spec["clusterIP"] else "IPv4"
    if spec["clusterIP"] == "None" and not spec.get("selector"):
        # The addresses behind it are not known, so both families may be.
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
    spec.setdefault("ipFamilies", [family])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
        _node_ports(kubernetes, spec, before)
        if kind == "LoadBalancer" and spec["externalTrafficPolicy"] == "Local":
            _health_port(spec, before)


def _health_port(spec: Obj, before: Obj) -> None:
    """Where load balancers ask whether a node has pods of the service; next to its first port."""
    taken = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
    start = min(taken, default=_NODE_PORTS[0])
    free = next(port for port in (*range(start, _NODE_PORTS[-1]), *_NODE_PORTS) if port not in taken)
    spec.setdefault("healthCheckNodePort", before.get("healthCheckNodePort") or free)


def _free_address(kubernetes: Kubernetes, service: Obj) -> str:
    network = ipaddress.ip_network(RANGE)
    taken = _taken(kubernetes)
    place = int.from_bytes(drawn(kubernetes.world.seed, "address", service["metadata"].get("uid"))[:8], "big")
    while True:
        address = str(network[256 + place % (network.num_addresses - 257)])  # the first ones are for who asks
        if address not in taken:
            return address
        place += 1


def _taken(kubernetes: Kubernetes) -> set[str]:
    return {stored.obj["spec"].get("clusterIP", "") for _, stored in kubernetes.storage.under(SERVICE.root)}


def _check_free(kubernetes: Kubernetes, service: Obj, address: str) -> None:
    if address in _taken(kubernetes):
        why = f"failed to allocate IP {address}: provided IP is already allocated"
        problem = invalid_value("spec.clusterIPs", [address], why)
        problem["message"] = f'Invalid value: ["{address}"]: {why}'
        raise invalid(SERVICE, service["metadata"]["name"], [problem])


def _node_ports(kubernetes: Kubernetes, spec: Obj, before: Obj) -> None:
    taken = {
        port.get("nodePort")
        for _, stored in kubernetes.storage.under(SERVICE.root)
        for port in stored.obj["spec"].get("ports") or ()
    }
    kept = {(port.get("name"), port.get("port")): port.get("nodePort") for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        if port.get("nodePort"):
            continue
        known = kept.get((port.get("name"), port.get("port")))
        start = int.from_bytes(drawn(kubernetes.world.seed, "port", spec["clusterIP"], port.get("port"))[:4], "big")
        free = (
            _NODE_PORTS[(start + step) % len(_NODE_PORTS)]
            for step in range(len(_NODE_PORTS))
            if _NODE_PORTS[(start + step) % len(_NODE_PORTS)] not in taken
        )
        port["nodePort"] = known or next(free)
        taken.add(port["nodePort"])
