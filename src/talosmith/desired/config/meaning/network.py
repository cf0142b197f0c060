"""What a config says of the node's own network, where v1alpha1 and documents both can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.desired.config.meaning.view import Values, View, section, texts

DISCOVERY_ENDPOINT = "https://discovery.talos.dev/"
KUBESPAN_MTU = 1420


def hostname(view: View) -> Values:
    """`auto` counts only where there is no hostname."""
    document = view.first("HostnameConfig")
    if document is not None:
        name, auto = document.get("hostname") or "", document.get("auto") or "off"
    else:
        name = view.of_machine("network").get("hostname") or ""
        auto = "stable" if view.of_machine("features").get("stableHostname") else "talos-addr"
    return {"hostname": name, "auto": "off" if name else auto}


def resolver(view: View) -> Values:
    """`searchDomains` is None where none are given: then those of DHCP are used."""
    document = view.first("ResolverConfig")
    if document is not None:
        domains = section(document, "searchDomains")
        return {
            "nameservers": [_nameserver(one) for one in document.get("nameservers") or ()],
            "searchDomains": domains.get("domains"),
            "disableDefault": bool(domains.get("disableDefault")),
        }
    old = view.of_machine("network")
    return {
        "nameservers": [_nameserver({"address": address}) for address in old.get("nameservers") or ()],
        "searchDomains": old.get("searchDomains"),
        "disableDefault": bool(old.get("disableSearchDomain")),
    }


def _nameserver(given: Mapping[str, Any]) -> Values:
    return {
        "address": str(given.get("address") or ""),
        "protocol": given.get("protocol") or "Do53",
        "tlsServerName": given.get("tlsServerName") or "",
    }


def host_dns(view: View) -> Values | None:
    """None: not configured. A document counts only if it enables host DNS."""
    document = section(view.first("ResolverConfig") or {}, "hostDNS")
    old = view.of_machine("features").get("hostDNS")
    given = document if document.get("enabled") else old
    if given is None:
        return None
    return {key: bool(given.get(key)) for key in ("enabled", "forwardKubeDNSToHost", "resolveMemberNames")}


def time_sync(view: View) -> Values:
    document = view.first("TimeSyncConfig")
    given = document if document is not None else view.of_machine("time")
    if document is not None:
        ntp, ptp = document.get("ntp"), document.get("ptp")
        servers = (ntp or {}).get("servers") if ntp is not None else (ptp or {}).get("devices")
        disabled = document.get("enabled") is False
    else:
        ntp, servers, disabled = None, given.get("servers"), bool(given.get("disabled"))
    return {
        "disabled": disabled,
        "servers": texts(servers),
        "bootTimeout": given.get("bootTimeout") or "0s",
        "useNTS": bool((ntp or {}).get("useNTS")),
    }


def kubespan(view: View) -> Values:
    """Without a section KubeSpan is disabled, so nothing else of it counts."""
    document = view.first("KubeSpanConfig")
    given = document if document is not None else view.of_machine("network", "kubespan")
    filters = section(given, "filters")
    switches = ("enabled", "advertiseKubernetesNetworks", "allowDownPeerBypass", "harvestExtraEndpoints")
    return {
        **{key: bool(given.get(key)) for key in switches},
        "mtu": given.get("mtu") or KUBESPAN_MTU,
        "endpoints": texts(filters.get("endpoints")),
        "excludeAdvertisedNetworks": texts(filters.get("excludeAdvertisedNetworks")),
    }


def static_hosts(view: View) -> list[Values]:
    old = view.of_machine("network").get("extraHostEntries") or ()
    made = [{"ip": str(one.get("ip") or ""), "hostnames": texts(one.get("aliases"))} for one in old if one]
    documents = view.every("StaticHostConfig")
    return [
        *made,
        *({"ip": str(one.get("name") or ""), "hostnames": texts(one.get("hostnames"))} for one in documents),
    ]


def discovery(view: View) -> Values:
    """The endpoints of discovery services, and whether nodes are also announced by Kubernetes (v1alpha1 only)."""
    old = view.of_cluster("discovery")
    service, kubernetes = section(old, "registries", "service"), section(old, "registries", "kubernetes")
    enabled = bool(old.get("enabled"))
    if enabled and not service.get("disabled"):
        endpoints = [str(service.get("endpoint") or DISCOVERY_ENDPOINT)]
    else:
        endpoints = [str(one.get("endpoint") or "") for one in view.every("DiscoveryServiceConfig")]
    return {"endpoints": endpoints, "kubernetes": enabled and not kubernetes.get("disabled")}


def discovery_identity(view: View) -> Values:
    identity, secret = view.cluster.get("id") or "", view.cluster.get("secret") or ""
    if not identity and not secret:
        document = view.first("DiscoveryIdentityConfig") or {}
        identity, secret = document.get("clusterID") or "", document.get("clusterSecret") or ""
    return {"clusterID": identity, "clusterSecret": secret}
