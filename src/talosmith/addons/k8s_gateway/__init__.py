"""k8s-gateway: a DNS server at `gateways.dns` that answers for `domain` with the addresses of routes and Services.

The home network's router or resolver forwards queries for the domain to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, Values
from talosmith.model.cluster import Cluster


def values(cluster: Cluster) -> Values:
    routes = ["HTTPRoute"] if "gateway-api" in cluster.addons else []
    return {
        "domain": cluster.services.domain or "",
        "ttl": 1,  # an address may move at any time, and clients are near
        "watchedResources": [*routes, "Service"],
        "replicaCount": 2 if len(cluster.nodes) > 1 else 1,
        "service": {"type": "LoadBalancer", "port": 53, "externalTrafficPolicy": "Cluster", **_pinned(cluster)},
    }


def _pinned(cluster: Cluster) -> Values:
    gateways = cluster.services.gateways
    if gateways is None or gateways.dns is None:
        return {}
    if "cilium" in cluster.addons:
        return {"annotations": {"lbipam.cilium.io/ips": str(gateways.dns)}}
    return {"loadBalancerIP": str(gateways.dns)}


def check(cluster: Cluster) -> Iterator[Finding]:
    gateways = cluster.services.gateways
    if cluster.services.domain is None:
        what = "k8s-gateway needs the domain that it answers for"
        yield Finding("error", ("addons", "k8s-gateway"), what, fix="set `domain`, or `dns.internal: none`")
    if gateways is None or gateways.dns is None:
        what = "k8s-gateway gets any address that a load balancer has"
        yield Finding("warning", ("addons", "k8s-gateway"), what, "there is no `gateways.dns`", "set gateways.dns")


ADDON = Addon(
    title="DNS server of the home network for routes of the domain",
    namespace="network",
    chart=Chart("oci://ghcr.io/k8s-gateway/charts/k8s-gateway", {"3.7.2": ">=1.21"}, "k8s-gateway"),
    values=values,
    check=check,
    after=("gateway-api", "cilium", "coredns"),
    rendered_by_tests=False,
)
