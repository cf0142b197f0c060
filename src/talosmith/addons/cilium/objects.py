"""Which addresses Cilium gives to Services of type LoadBalancer, and how the network learns of them.

The gateways' addresses are a pool of their own, for the namespaces of the gateways alone: a Service elsewhere could
take one of them before its gateway does. Cilium's operator registers the CRDs, so all of this comes after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from talosmith.addons.addon import Object, namespace_of, secret
from talosmith.addons.cilium.routing import announces_by_arp
from talosmith.model.cluster import Cluster
from talosmith.model.services import Bgp
from talosmith.model.values import IpAddress, IpNetwork

_PASSWORD = "cilium-bgp-router"  # noqa: S105 - the name of a Secret
_ADVERTISED = {"advertise": "services"}
_USERS = ("envoy-gateway", "k8s-gateway")  # add-ons whose Services have the gateways' addresses


def objects(cluster: Cluster) -> Sequence[Object]:
    bgp = cluster.services.cilium.bgp
    if bgp is None or bgp.password is None:
        return ()
    return (secret(_PASSWORD, namespace_of(cluster, "cilium"), {"password": bgp.password}),)


def config(cluster: Cluster) -> Sequence[Object]:
    bgp = cluster.services.cilium.bgp
    found = [*_pools(cluster, bgp)]
    if announces_by_arp(cluster):
        found.append(_object("CiliumL2AnnouncementPolicy", "gateways", {"loadBalancerIPs": True}, version="v2alpha1"))
    if bgp is not None:
        found += _bgp(cluster, bgp)
    return found


def _pools(cluster: Cluster, bgp: Bgp | None) -> Iterator[Object]:
    gateways = gateway_addresses(cluster)
    if gateways:
        spec: Object = {"blocks": [{"start": str(one), "stop": str(one)} for one in gateways]}
        spaces = sorted({namespace_of(cluster, name) for name in _USERS if name in cluster.addons})
        if spaces:
            expression = {"key": "io.kubernetes.service.namespace", "operator": "In", "values": spaces}
            spec["serviceSelector"] = {"matchExpressions": [expression]}
        yield _object("CiliumLoadBalancerIPPool", "gateways", spec)
    if bgp is not None and bgp.lb_pool_cidr is not None:
        blocks = [
            {"start": str(first), "stop": str(last)}
            for first, last in free_ranges(bgp.lb_pool_cidr, {*gateways, *_taken(cluster, bgp)})
        ]
        yield _object("CiliumLoadBalancerIPPool", "services", {"blocks": blocks})


def gateway_addresses(cluster: Cluster) -> list[IpAddress]:
    gateways = cluster.services.gateways
    given = () if gateways is None else (gateways.internal, gateways.external, gateways.dns)
    return [address for address in given if address is not None]


def _taken(cluster: Cluster, bgp: Bgp) -> Iterator[IpAddress]:
    network = cluster.network
    yield from (node.ip for node in cluster.nodes)
    yield bgp.router_addr
    yield from (address for address in (network.gateway, network.vip) if address is not None)


def free_ranges(network: IpNetwork, taken: Iterable[IpAddress]) -> Iterator[tuple[IpAddress, IpAddress]]:
    """The addresses of a network without those taken, and without its first and last if it has more than two."""
    edge = 1 if network.num_addresses > 2 else 0
    first, end = int(network[0]) + edge, int(network[-1]) - edge

    def address(number: int) -> IpAddress:
        return type(network[0])(number)

    for number in sorted(int(one) for one in taken if one in network):
        if first < number:
            yield address(first), address(number - 1)
        first = max(first, number + 1)
    if first <= end:
        yield address(first), address(end)


def _bgp(cluster: Cluster, bgp: Bgp) -> Iterator[Object]:
    advertisement: Object = {
        "advertisementType": "Service",
        "service": {"addresses": ["LoadBalancerIP"]},
        # An empty selector selects no Service; this one selects all of them.
        "selector": {"matchExpressions": [{"key": "advertise", "operator": "NotIn", "values": ["never"]}]},
    }
    services = _object("CiliumBGPAdvertisement", "services", {"advertisements": [advertisement]})
    services["metadata"]["labels"] = dict(_ADVERTISED)
    yield services
    peer: Object = {
        "timers": {"holdTimeSeconds": bgp.hold_time, "keepAliveTimeSeconds": bgp.keepalive_time},
        "families": [
            {"afi": f"ipv{version}", "safi": "unicast", "advertisements": {"matchLabels": dict(_ADVERTISED)}}
            for version in _versions(cluster, bgp)
        ],
    }
    if bgp.password is not None:
        peer["authSecretRef"] = _PASSWORD
    if bgp.graceful_restart:
        peer["gracefulRestart"] = {"enabled": True, "restartTimeSeconds": bgp.graceful_restart_time}
    yield _object("CiliumBGPPeerConfig", "router", peer)
    router = {
        "name": "router",
        "peerASN": bgp.router_asn,
        "peerAddress": str(bgp.router_addr),
        "peerConfigRef": {"name": "router"},
    }
    instance = {"name": "nodes", "localASN": bgp.node_asn, "peers": [router]}
    yield _object("CiliumBGPClusterConfig", "router", {"bgpInstances": [instance]})


def _versions(cluster: Cluster, bgp: Bgp) -> list[int]:
    """Of IP, of the addresses that are announced."""
    pool = [bgp.lb_pool_cidr[0]] if bgp.lb_pool_cidr is not None else []
    return sorted({address.version for address in (*gateway_addresses(cluster), *pool)}) or [bgp.router_addr.version]


def _object(kind: str, name: str, spec: Object, *, version: str = "v2") -> Object:
    return {"apiVersion": f"cilium.io/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}
