"""What Talos asks of the documents about Kubernetes."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_interface
from typing import Any

from talosmith.desired.config.check.cluster import AUTHORIZERS
from talosmith.desired.config.check.findings import Findings, check_kind, complaint, error, missing, warning
from talosmith.desired.config.check.names import check_subdomain
from talosmith.desired.config.check.node import (
    check_annotations,
    check_kubelet_config,
    check_labels,
    check_resources,
    check_roles,
    check_subnets,
    check_taints,
)
from talosmith.desired.config.check.pem import check_all_certificates, check_key, check_pair
from talosmith.desired.config.schema.gourl import check_endpoint, parse_url

_ARGUMENTS_WITH_DOCUMENTS = {  # the start of an argument's name, and the document that takes its place
    "anonymous-auth": "KubeAuthenticationConfig",
    "oidc-": "KubeAuthenticationConfig",
    "authentication-config": "KubeAuthenticationConfig",
    "authorization-config": "KubeAuthorizerConfig",
    "authorization-mode": "KubeAuthorizerConfig",
    "authorization-webhook-": "KubeAuthorizerConfig",
}
_FEWEST_HOST_BITS = 4
_MOST_SERVICE_BITS = 20
_MOST_NODE_BITS = 16  # 2^16 nodes: how many pod networks Kubernetes carves out of a subnet


@check_kind("KubeAPIServerCAConfig", "KubeAggregatorCAConfig")
def _authority(document: Any) -> Findings:
    if document.get("issuingCA") is None and document["kind"] == "KubeAggregatorCAConfig":
        yield error("issuingCA", "is missing")
    yield from check_pair("issuingCA", document.get("issuingCA"), loadable=True)
    for index, text in enumerate(document.get("acceptedCAs") or ()):
        yield from complaint(f"acceptedCAs[{index}]", check_all_certificates, text)


@check_kind("KubeAPIServerConfig")
def _api_server(document: Any) -> Findings:
    yield from missing(document, "image")
    yield from check_resources("resources", document.get("resources"))
    for name in document.get("extraArgs") or {}:
        for start, kind in _ARGUMENTS_WITH_DOCUMENTS.items():
            if name.startswith(start):
                yield error(f'extraArgs["{name}"]', f"is not accepted here (fix: use the document {kind})")


@check_kind("KubeControllerManagerConfig", "KubeSchedulerConfig")
def _static_pod_component(document: Any) -> Findings:
    if document.get("enabled") is not False:
        yield from missing(document, "image")
        yield from check_resources("resources", document.get("resources"))


@check_kind("KubeProxyConfig")
def _proxy(document: Any) -> Findings:
    if document.get("enabled") is False:
        return
    yield from missing(document, "image")
    yield from check_resources("resources", document.get("resources"))
    mode = document.get("mode") or "nftables"
    if mode in ("iptables", "ipvs"):
        yield warning("mode", "is not recommended any more: nftables is")
    elif mode != "nftables":
        yield error("mode", "is none of nftables, iptables, ipvs")
    if document.get("extraArgs"):
        yield warning("extraArgs", "may have no effect: kube-proxy is set up by config")


@check_kind("KubeAdmissionControlConfig")
def _admission_control(document: Any) -> Findings:
    return missing(document, "name")


@check_kind("KubeAuthorizerConfig")
def _authorizer(document: Any) -> Findings:
    yield from missing(document, "name")
    is_webhook = document.get("type") == "Webhook"
    if document.get("type") not in AUTHORIZERS:
        yield error("type", f"is none of {', '.join(AUTHORIZERS)}")
    if is_webhook and not document.get("webhook"):
        yield error("webhook", "is missing, and authorizers of type Webhook need it")
    if not is_webhook and document.get("webhook"):
        yield warning("webhook", "is for authorizers of type Webhook only")


@check_kind("KubeEtcdEncryptionConfig")
def _etcd_encryption(document: Any) -> Findings:
    return missing(document, "config")


@check_kind("KubeServiceAccountConfig")
def _service_account(document: Any) -> Findings:
    issuer = document.get("issuer") or {}
    if issuer.get("privateKey"):
        yield from complaint("issuer.privateKey", check_key, issuer["privateKey"])
    else:
        yield error("issuer.privateKey", "is missing")
    if not issuer.get("issuerURL"):
        yield error("issuer.issuerURL", "is missing")


@check_kind("KubeTalosAPIAccessConfig")
def _api_access(document: Any) -> Findings:
    if not document.get("allowedRoles"):
        yield warning("allowedRoles", "is empty, so no pod gets access")
    yield from check_roles("allowedRoles", document.get("allowedRoles"))


@check_kind("KubeClusterConfig")
def _cluster(document: Any) -> Findings:
    yield from missing(document, "clusterName", "endpoint")
    if document.get("endpoint"):
        yield from complaint("endpoint", check_endpoint, document["endpoint"])


@check_kind("KubeNetworkConfig")
def _network(document: Any) -> Findings:
    masks = {}
    for version, widest, usual in ((4, 32, 24), (6, 128, 64)):
        key = f"nodeCIDRMaskSizeIPv{version}"
        mask = document.get(key) or usual
        if 1 <= mask <= widest:
            masks[version] = mask
        else:
            yield error(key, f"is not between 1 and {widest}")
    pods, services = document.get("podSubnets") or (), document.get("serviceSubnets") or ()
    yield from _subnets("podSubnets", pods, lambda version, bits: _pod_size(masks.get(version), bits))
    yield from _subnets("serviceSubnets", services, _service_size)
    if len(pods) != len(services):
        yield error("serviceSubnets", "has not as many subnets as podSubnets")


def _subnets(path: str, subnets: Any, check_size: Callable[[int, int], str]) -> Findings:
    versions: list[int] = []
    for entry in subnets:
        if not entry:
            yield error(path, "has an empty entry")
            continue
        interface = ip_interface(entry)
        network = interface.network
        if interface.ip != network.network_address:
            yield error(path, f"has an address with host bits; the network is {network}")
        elif network.max_prefixlen - network.prefixlen < _FEWEST_HOST_BITS:
            yield error(path, f"has a subnet smaller than /{network.max_prefixlen - _FEWEST_HOST_BITS}")
        elif wrong := check_size(network.version, network.prefixlen):
            yield error(path, wrong)
        versions.append(network.version)
    if not 1 <= len(subnets) <= 2 or len(set(versions)) < len(versions):
        yield error(path, "is not one subnet, or one of IPv4 and one of IPv6")


def _pod_size(mask: int | None, bits: int) -> str:
    """What is wrong with a pod subnet of that prefix length, out of which each node gets a network."""
    if mask is None:
        return ""
    if bits > mask:
        return f"has a subnet smaller than the /{mask} that each node gets"
    return f"has a subnet more than {_MOST_NODE_BITS} bits wider than the /{mask} that each node gets" * (
        mask - bits > _MOST_NODE_BITS
    )


def _service_size(version: int, bits: int) -> str:
    widest = (32 if version == 4 else 128) - _MOST_SERVICE_BITS
    return f"has a subnet larger than /{widest}" * (bits < widest)


@check_kind("KubeFlannelCNIConfig")
def _flannel(document: Any) -> Findings:
    yield from missing(document, "backendType")
    yield from check_resources("resources", document.get("resources"))


@check_kind("KubeInlineManifestConfig", "KubeExternalManifestConfig", "KubeStaticPodConfig")
def _named_object(document: Any) -> Findings:
    yield from complaint("name", check_subdomain, document.get("name"))
    if document["kind"] == "KubeStaticPodConfig":
        yield from missing(document, "pod")
    is_external = document["kind"] == "KubeExternalManifestConfig"
    if is_external and parse_url(document.get("url") or "").scheme not in ("http", "https"):
        yield error("url", "is not an http:// or https:// address")


@check_kind("KubeNodeConfig")
def _node(document: Any) -> Findings:
    yield from check_subnets("nodeIP.validSubnets", (document.get("nodeIP") or {}).get("validSubnets"))
    yield from check_labels("labels", document.get("labels"))
    yield from check_annotations("annotations", document.get("annotations"))
    yield from check_taints("taints", document.get("taints"))


@check_kind("KubePrismConfig")
def _kube_prism(document: Any) -> Findings:
    if not 1 <= (document.get("port") or 0) <= 65535:
        yield error("port", "is not between 1 and 65535")


@check_kind("KubeletConfig")
def _kubelet(document: Any) -> Findings:
    yield from missing(document, "image")
    yield from check_kubelet_config("config", document.get("config"))
