"""What Talos asks of documents together, from 1.14 on: a setting in one that needs a setting in another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.desired.config.check.findings import Finding, Findings, Together, check_together, error
from talosmith.desired.config.schema.documents import Document, identity, label

CONTROL_PLANE_ONLY = frozenset({
    "KubeAPIServerConfig", "KubeAdmissionControlConfig", "KubeAggregatorCAConfig", "KubeAuditPolicyConfig",
    "KubeAuthenticationConfig", "KubeAuthorizerConfig", "KubeControllerManagerConfig", "KubeCoreDNSConfig",
    "KubeEtcdEncryptionConfig", "KubeFlannelCNIConfig", "KubeProxyConfig", "KubeSchedulerConfig",
    "KubeServiceAccountConfig", "KubeTalosAPIAccessConfig",
})  # fmt: skip
_ROLE_LABEL = "node-role.kubernetes.io/control-plane"


def _in(document: Document, path: str, message: str, severity: Any = "error") -> Finding:
    key = identity(document)
    return Finding(severity, path, message, label(key), key)


def _host_dns(config: Together) -> Any:
    """The host DNS that is in force: of ResolverConfig if enabled there, else of the main document."""
    document = (config.first("ResolverConfig") or {}).get("hostDNS") or {}
    return document if document.get("enabled") else config.section("machine", "features", "hostDNS")


@check_together(since=(1, 14))
def _host_dns_in_containers(config: Together) -> Findings:
    if config.mode != "container":
        return
    host_dns = _host_dns(config) or {}
    for key in ("enabled", "forwardKubeDNSToHost"):
        if not host_dns.get(key):
            yield error(f"machine.features.hostDNS.{key}", "must be true in containers, or hostDNS of ResolverConfig")


@check_together(since=(1, 14))
def _dns_protocols(config: Together) -> Findings:
    resolver = config.first("ResolverConfig")
    if resolver is None or (_host_dns(config) or {}).get("enabled"):
        return
    for index, one in enumerate(resolver.get("nameservers") or ()):
        if (one.get("protocol") or "Do53") != "Do53":
            yield _in(resolver, f"nameservers[{index}].protocol", "needs hostDNS.enabled")


def _discovery_services(config: Together) -> bool:
    discovery = config.section("cluster", "discovery") or {}
    service = (discovery.get("registries") or {}).get("service") or {}
    return (
        bool(discovery.get("enabled") and not service.get("disabled")) or "DiscoveryServiceConfig" in config.by_kind
    )


@check_together(since=(1, 14))
def _discovery_identity(config: Together) -> Findings:
    service = config.first("DiscoveryServiceConfig")
    old = [config.section("cluster", key) for key in ("id", "secret")]
    document = config.first("DiscoveryIdentityConfig") or {}
    new = [document.get(key) for key in ("clusterID", "clusterSecret")]
    if service is not None and not all(old if any(old) else new):
        yield _in(service, "", "needs the document DiscoveryIdentityConfig with clusterID and clusterSecret")


@check_together(since=(1, 14))
def _kubespan(config: Together) -> Findings:
    document = config.first("KubeSpanConfig")
    kubespan = document if document is not None else config.section("machine", "network", "kubespan")
    if kubespan is None or not kubespan.get("enabled") or _discovery_services(config):
        return
    message = "needs a discovery service (fix: add the document DiscoveryServiceConfig)"
    yield error("machine.network.kubespan", message) if document is None else _in(document, "enabled", message)


def _has_kubernetes(config: Together) -> bool:
    """Whether there is a Kubernetes CA, by which Talos tells that the machine runs Kubernetes."""
    cluster = config.section("cluster") or {}
    return "KubeAPIServerCAConfig" in config.by_kind or any(
        cluster.get(key) is not None for key in ("ca", "acceptedCAs")
    )


@check_together(since=(1, 14))
def _etcd_encryption(config: Together) -> Findings:
    if config.role != "controlplane" or not _has_kubernetes(config):
        return
    cluster = config.section("cluster") or {}
    secrets = [cluster.get(key) for key in ("secretboxEncryptionSecret", "aescbcEncryptionSecret")]
    if not any(secrets) and "KubeEtcdEncryptionConfig" not in config.by_kind:
        yield error("", "the document KubeEtcdEncryptionConfig is missing, and control planes need it")


@check_together(since=(1, 14))
def _role_label(config: Together) -> Findings:
    node = config.first("KubeNodeConfig")
    if node is None or config.role != "controlplane" or node.get("skipNodeRegistration"):
        return
    if _ROLE_LABEL not in (node.get("labels") or {}):
        yield _in(node, "labels", f"should have {_ROLE_LABEL} on control planes; Talos does not add it", "warning")


@check_together(since=(1, 14))
def _cluster_and_endpoint(config: Together) -> Findings:
    endpoint = config.section("cluster", "controlPlane", "endpoint")
    if _has_kubernetes(config) and endpoint is None and "KubeClusterConfig" not in config.by_kind:
        yield error(
            "", "the document KubeClusterConfig is missing, and Kubernetes needs a cluster name and an endpoint"
        )


@check_together(since=(1, 14))
def _control_plane_only(config: Together) -> Findings:
    if config.role == "controlplane":
        return
    for kind in sorted(CONTROL_PLANE_ONLY & config.by_kind.keys()):
        for document in config.by_kind[kind]:
            yield _in(document, "", "is for control planes only")


@check_together(since=(1, 14))
def _containers(config: Together) -> Findings:
    """Each container depends on containers that exist, and none on itself through others."""
    documents = {one.get("name") or "": one for one in config.by_kind.get("ContainerConfig", ())}
    needs = {name: tuple((one.get("dependsOn") or {}).get("containers") or ()) for name, one in documents.items()}
    for name, wanted in needs.items():
        for other in wanted:
            if other not in documents:
                yield _in(documents[name], "dependsOn.containers", f"names {other!r}, which does not exist")
        if name in _reachable(name, needs):
            yield _in(documents[name], "dependsOn.containers", "depends on itself through other containers")


def _reachable(name: str, needs: Mapping[str, tuple[str, ...]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(needs[name])
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += needs.get(one, ())
    return seen
