"""What Talos asks of the cluster section of the main document."""

from __future__ import annotations

from collections import Counter
from typing import Any

from talosmith.desired.config.check.findings import Findings, check, complaint, error, warning
from talosmith.desired.config.check.names import check_dns_name
from talosmith.desired.config.check.node import check_resources
from talosmith.desired.config.schema.gourl import check_endpoint, parse_url
from talosmith.govalues import address_or_prefix

AUTHORIZERS = ("Node", "RBAC", "Webhook")


@check("cluster", "cluster.controlPlane.endpoint", until=(1, 13))
def _endpoint(cluster: Any, endpoint: str | None) -> Findings:
    if cluster is None:
        yield error("cluster", "is missing")
    elif endpoint is None:
        yield error("cluster.controlPlane.endpoint", "is missing")
    else:
        yield from complaint("cluster.controlPlane.endpoint", check_endpoint, endpoint)


@check("cluster", "cluster.controlPlane", "cluster.serviceAccount", since=(1, 14))
def _endpoint_of_its_own(cluster: Any, control_plane: Any, service_account: Any) -> Findings:
    """The endpoint may stand in KubeClusterConfig: then nothing that needs it stays here."""
    endpoint = (control_plane or {}).get("endpoint")
    if cluster is None:
        yield error("cluster", "is missing")
    elif endpoint is not None:
        yield from complaint("cluster.controlPlane.endpoint", check_endpoint, endpoint)
    elif control_plane is not None:
        yield error(
            "cluster.controlPlane.endpoint",
            "is missing (fix: remove the whole section if the document KubeClusterConfig has the endpoint; "
            "localAPIServerPort is apiPort of KubeAPIServerConfig)",
        )
    if endpoint is None and service_account is not None:
        yield error(
            "cluster.serviceAccount", "needs cluster.controlPlane.endpoint (fix: use KubeServiceAccountConfig)"
        )


@check("cluster.network.dnsDomain")
def _dns_domain(name: str | None) -> Findings:
    if name:
        yield from complaint("cluster.network.dnsDomain", check_dns_name, name)


@check("@role", "cluster.network.cni")
def _cni(role: str, cni: Any) -> Findings:
    if role != "controlplane" or cni is None:
        return
    path = "cluster.network.cni"
    name, urls, flannel = cni.get("name"), cni.get("urls") or [], cni.get("flannel") or {}
    if name not in ("flannel", "custom", "none"):
        yield error(f"{path}.name", "is none of flannel, custom, none")
        return
    if urls and name != "custom":
        yield error(f"{path}.urls", "is only for the custom CNI")
    if name != "flannel" and (flannel.get("extraArgs") or flannel.get("kubeNetworkPoliciesEnabled")):
        yield error(f"{path}.flannel", "is only for flannel")
    if name == "custom":
        if not urls:
            yield warning(f"{path}.urls", "is empty, so nothing will be installed")
        for url in urls:
            yield from complaint(f"{path}.urls", check_endpoint, url)


@check("cluster.externalCloudProvider")
def _cloud_provider(provider: Any) -> Findings:
    path = "cluster.externalCloudProvider.manifests"
    manifests = (provider or {}).get("manifests") or []
    if manifests and not provider.get("enabled"):
        yield error(path, "are given, but the provider is not enabled")
    for url in manifests:
        yield from complaint(path, check_endpoint, url)


@check("@role", "cluster.etcd")
def _etcd(role: str, etcd: Any) -> Findings:
    if etcd is None:
        return
    if role != "controlplane":
        yield error("cluster.etcd", "is for control planes only")
        return
    if etcd.get("ca") is None:
        yield error("cluster.etcd.ca", "is missing")
    if etcd.get("subnet") and etcd.get("advertisedSubnets"):
        yield error("cluster.etcd.subnet", "cannot stand beside advertisedSubnets")
    advertised = etcd.get("advertisedSubnets") or ([etcd["subnet"]] if etcd.get("subnet") else [])
    for path, subnets in (("advertisedSubnets", advertised), ("listenSubnets", etcd.get("listenSubnets") or [])):
        for subnet in subnets:
            yield from complaint(f"cluster.etcd.{path}", address_or_prefix, subnet.removeprefix("!"))


@check("cluster.inlineManifests")
def _inline_manifests(manifests: Any) -> Findings:
    names = Counter(one.get("name") or "" for one in manifests or ())
    if any(not name.strip() for name in names):
        yield error("cluster.inlineManifests", "has one without a name")
    for name, times in names.items():
        if times > 1:
            yield error("cluster.inlineManifests", f"has more than one with the name {name!r}")


@check("cluster.discovery", "cluster.id", "cluster.secret")
def _discovery(discovery: Any, cluster_id: str | None, secret: str | None) -> Findings:
    service = ((discovery or {}).get("registries") or {}).get("service") or {}
    if not discovery or not discovery.get("enabled") or service.get("disabled"):
        return
    if endpoint := service.get("endpoint"):
        yield from complaint("cluster.discovery.registries.service.endpoint", _check_service, endpoint)
    if not cluster_id:
        yield error("cluster.id", "is missing, and cluster.discovery needs it")
    if not secret:
        yield error("cluster.secret", "is missing, and cluster.discovery needs it")


def _check_service(endpoint: str) -> None:
    url = parse_url(endpoint)
    if not url.scheme and not endpoint.startswith("/"):
        raise ValueError("is not a URL")
    if url.path not in ("", "/"):
        raise ValueError("must have no path")


@check("cluster.apiServer.authorizationConfig", "cluster.apiServer.extraArgs")
def _authorization(authorizers: Any, arguments: Any) -> Findings:
    if authorizers is None:
        return
    path = "cluster.apiServer.authorizationConfig"
    for name in arguments or {}:
        if name == "authorization-mode" or name.startswith("authorization-webhook-"):
            yield error(path, f"cannot stand beside the argument {name}")
    for index, one in enumerate(authorizers):
        if not one or not one.get("name") or one.get("type") not in AUTHORIZERS:
            yield error(f"{path}[{index}]", f"needs a name and a type out of {', '.join(AUTHORIZERS)}")


@check("cluster.apiServer.resources", "cluster.controllerManager.resources", "cluster.scheduler.resources")
def _resources(*components: Any) -> Findings:
    for name, resources in zip(("apiServer", "controllerManager", "scheduler"), components, strict=True):
        yield from check_resources(f"cluster.{name}.resources", resources)
