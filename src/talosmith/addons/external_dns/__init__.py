"""external-dns: public DNS records at Cloudflare for the routes of the external Gateway, and for DNSEndpoints.

Records are marked with the cluster's name, so that clusters with the same domain leave each other's records alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talosmith.addons.addon import Addon, Chart, Finding, Object, Values, namespace_of, secret
from talosmith.addons.envoy_gateway.gateways import EXTERNAL, addresses
from talosmith.model.cluster import Cluster

CHART = Chart("https://kubernetes-sigs.github.io/external-dns", {"1.21.1": ">=1.21"}, "external-dns")
_SECRET, _KEY = "external-dns-cloudflare", "api-token"


def values(cluster: Cluster) -> Values:
    arguments: Values = {"cloudflare-proxied": True, "cloudflare-dns-records-per-page": "1000"}
    routes = []
    if "gateway-api" in cluster.addons and EXTERNAL in addresses(cluster):
        # Routes of the internal Gateway alone are nothing for public DNS, so there is no source without this name.
        routes, arguments["gateway-name"] = ["gateway-httproute"], EXTERNAL
    token = {"valueFrom": {"secretKeyRef": {"name": _SECRET, "key": _KEY}}}
    return {
        **shared_values(cluster),
        "provider": {"name": "cloudflare"},
        "env": [{"name": "CF_API_TOKEN", **token}],
        "sources": ["crd", *routes],
        "txtPrefix": "k8s.",
        "extraArgs": arguments,
    }


def shared_values(cluster: Cluster) -> Values:
    """The same whichever DNS server has the records."""
    reload = {"deploymentAnnotations": {"reloader.stakater.com/auto": "true"}} if "reloader" in cluster.addons else {}
    return {
        "policy": "sync",
        "triggerLoopOnEvent": True,
        "txtOwnerId": cluster.name,
        "domainFilters": [cluster.services.domain] if cluster.services.domain is not None else [],
        **reload,
    }


def objects(cluster: Cluster) -> Sequence[Object]:
    token = cluster.services.dns.token
    return () if token is None else (secret(_SECRET, namespace_of(cluster, "external-dns"), {_KEY: token}),)


def check(cluster: Cluster) -> Iterator[Finding]:
    if cluster.services.dns.provider != "cloudflare":  # the token and the domain are checked with the provider
        what = "external-dns has no DNS provider"
        yield Finding("error", ("addons", "external-dns"), what, fix="set `dns.provider: cloudflare` and `dns.token`")


ADDON = Addon(
    title="Public DNS records at Cloudflare",
    namespace="network",
    chart=CHART,
    values=values,
    objects=objects,
    check=check,
    after=("gateway-api", "cilium", "coredns"),
)
