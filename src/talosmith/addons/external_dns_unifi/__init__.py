"""external-dns with UniFi: DNS records of the internal Gateway in the home network's UniFi controller.

It is the chart of external-dns with a webhook beside it that speaks to the controller, in place of k8s-gateway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from talosmith.addons.addon import Addon, Finding, Object, Values, namespace_of, secret
from talosmith.addons.envoy_gateway.gateways import INTERNAL, addresses
from talosmith.addons.external_dns import CHART, shared_values
from talosmith.model.cluster import Cluster
from talosmith.model.services import Unifi

_SECRET, _KEY = "external-dns-unifi", "api-key"
_IMAGE = {"repository": "ghcr.io/kashalls/external-dns-unifi-webhook", "tag": "v0.8.2"}


def values(cluster: Cluster) -> Values:
    unifi = cluster.services.unifi
    has_routes = "gateway-api" in cluster.addons and INTERNAL in addresses(cluster)
    return {
        **shared_values(cluster),
        "provider": {"name": "webhook", "webhook": _webhook(unifi) if unifi is not None else {}},
        # A Service for the Gateway's own name, routes for the aliases of it.
        "sources": ["service", *(["gateway-httproute"] if has_routes else [])],
        "txtPrefix": "k8s.unifi.",
        "extraArgs": {"gateway-name": INTERNAL} if has_routes else {},
    }


def _webhook(unifi: Unifi) -> Values:
    key = {"valueFrom": {"secretKeyRef": {"name": _SECRET, "key": _KEY}}}
    settings = {
        "UNIFI_HOST": unifi.host,
        "UNIFI_SITE": unifi.site,
        "UNIFI_EXTERNAL_CONTROLLER": str(unifi.external_controller).lower(),
        "UNIFI_SKIP_TLS_VERIFY": str(_is_address(unifi.host)).lower(),
    }
    probe = {"httpGet": {"path": "/readyz", "port": "http-webhook"}}
    return {
        "image": dict(_IMAGE),
        "env": [
            *({"name": name, "value": value} for name, value in settings.items()),
            {"name": "UNIFI_API_KEY", **key},
        ],
        "readinessProbe": probe,
    }


def _is_address(url: str) -> bool:
    """No authority signs certificates for private addresses: the controller's own is self-signed then."""
    try:
        ip_address(urlsplit(url).hostname or "")
    except ValueError:
        return False
    return True


def objects(cluster: Cluster) -> Sequence[Object]:
    unifi = cluster.services.unifi
    if unifi is None:
        return ()
    return (secret(_SECRET, namespace_of(cluster, "external-dns-unifi"), {_KEY: unifi.api_key}),)


def check(cluster: Cluster) -> Iterator[Finding]:
    unifi = cluster.services.unifi
    if unifi is None:
        what = "external-dns-unifi has no controller"
        yield Finding("error", ("addons", "external-dns-unifi"), what, fix="set unifi.host and unifi.api_key")
    elif _is_address(unifi.host) and unifi.host.startswith("https:"):
        yield Finding(
            "warning",
            ("unifi", "host"),
            "the certificate of the UniFi controller is not verified",
            "no certificate authority signs an IP address of a home network",
            "give the host name that the controller has a valid certificate for",
        )


ADDON = Addon(
    title="DNS records in a UniFi controller",
    namespace="network",
    chart=CHART,
    values=values,
    objects=objects,
    check=check,
    after=("gateway-api", "cilium", "coredns", "external-dns"),
)
