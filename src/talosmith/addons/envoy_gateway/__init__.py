"""Envoy Gateway: an internal and an external Gateway at the addresses of `gateways`, with a certificate for `domain`.

Its proxies run beside their Gateway and have its name, so that the tunnel of cloudflared can name its target.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, Values
from talosmith.addons.envoy_gateway.gateways import config
from talosmith.addons.gateway_api import VERSIONS
from talosmith.model.cluster import Cluster


def values(cluster: Cluster) -> Values:
    return {
        "crds": {"enabled": False},  # gateway-api has them
        "kubernetesClusterDomain": cluster.kubernetes.dns_domain,
        "config": {
            "envoyGateway": {
                "provider": {"type": "Kubernetes", "kubernetes": {"deploy": {"type": "GatewayNamespace"}}},
            }
        },
    }


def check(cluster: Cluster) -> Iterator[Finding]:
    services = cluster.services
    if services.gateways is None:
        what = "envoy-gateway is installed without a Gateway"
        yield Finding("warning", ("addons", "envoy-gateway"), what, "there is no `gateways`", "set gateways.internal")
        return
    if "cilium" not in cluster.addons:
        yield Finding(
            "warning",
            ("gateways",),
            "no add-on announces the addresses of the gateways",
            "they are external IPs of Services, for which no node answers by itself",
            "enable cilium, or install a load balancer that serves external IPs",
        )
    if services.domain is None or "cert-manager" not in cluster.addons:
        missing = "there is no `domain`" if services.domain is None else "`cert-manager` is switched off"
        what = "the gateways serve HTTP alone"
        yield Finding("warning", ("gateways",), what, missing, "set `domain`, and leave cert-manager enabled")


ADDON = Addon(
    title="Gateways for HTTP traffic, internal and external",
    namespace="network",
    # Charts before 1.9 bring CRDs that no value switches off, so there is none for an older Kubernetes.
    chart=Chart("oci://docker.io/envoyproxy/gateway-helm", VERSIONS, "gateway-helm"),
    values=values,
    config=config,
    check=check,
    after=("cert-manager", "gateway-api", "cilium", "coredns"),
    brings=("gateway-api",),
    awaited={"Gateway": "Programmed"},
)
