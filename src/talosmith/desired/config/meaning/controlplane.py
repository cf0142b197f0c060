"""What runs on control planes only. On workers Talos reads none of it, so there it means nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.desired.config.meaning.oidc import PREFIX, authenticator, is_translatable
from talosmith.desired.config.meaning.view import Values, View, arguments, decoded, resources, section, texts

API_PORT = 6443
FLANNEL = {"backendType": "vxlan", "backendPort": 4789}
AUDIT_POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
ANONYMOUS = {"enabled": True, "conditions": [{"path": path} for path in ("/livez", "/readyz", "/healthz")]}
NODE_AUTHORIZER = {"type": "Node", "name": "node", "webhook": {}}
RBAC_AUTHORIZER = {"type": "RBAC", "name": "rbac", "webhook": {}}
# Flags of kube-proxy and the fields of its configuration file that say the same.
PROXY_FLAGS: dict[str, tuple[str, ...]] = {
    "bind-address": ("bindAddress",),
    "healthz-bind-address": ("healthzBindAddress",),
    "ipvs-scheduler": ("ipvs", "scheduler"),
    "ipvs-strict-arp": ("ipvs", "strictARP"),
    "metrics-bind-address": ("metricsBindAddress",),
    "nodeport-addresses": ("nodePortAddresses",),
}
_CA_ROOTS = "/etc/ssl/certs"  # what Talos mounts into kube-apiserver where a document configures it


def api_server(view: View) -> Values:
    document = view.first("KubeAPIServerConfig")
    old = view.of_cluster("apiServer")
    given = document if document is not None else old
    roots = [{"hostPath": _CA_ROOTS, "mountPath": _CA_ROOTS, "readonly": True}]
    port = (
        document.get("apiPort") if document is not None else view.of_cluster("controlPlane").get("localAPIServerPort")
    )
    made = _pod(given)
    if document is None and is_translatable(made["extraArgs"]):  # see `authentication`
        made["extraArgs"] = {flag: value for flag, value in made["extraArgs"].items() if not flag.startswith(PREFIX)}
    return {
        **made,
        "certSANs": texts(given.get("certSANs" if document is None else "certExtraSANs")),
        "apiPort": port or API_PORT,
        "startupProbes": document is not None and document.get("startupProbes") is not False,
        "authenticationConfig": document is not None,
        "extraVolumes": _volumes(old) if document is None else roots,
    }


def authentication(view: View) -> Any:
    """kube-apiserver makes an authenticator of its `--oidc-…` flags."""
    document = view.first("KubeAuthenticationConfig")
    if document is not None:
        return document.get("configuration") or {}
    flags = arguments(view.of_cluster("apiServer").get("extraArgs"))
    legacy = view.first("KubeAPIServerConfig") is None and is_translatable(flags)
    return {"jwt": [authenticator(flags)]} if legacy else {}


def authorizers(view: View) -> list[Values]:
    """In the order in which kube-apiserver asks them. Talos adds Node and RBAC only to a v1alpha1 API server."""
    given = view.every("KubeAuthorizerConfig") or view.of_cluster("apiServer").get("authorizationConfig") or ()
    made = [
        {"type": one.get("type") or "", "name": one.get("name") or "", "webhook": one.get("webhook") or {}}
        for one in given
    ]
    if view.first("KubeAPIServerConfig") is None:
        kinds = [one["type"] for one in made]
        for place, added in enumerate((NODE_AUTHORIZER, RBAC_AUTHORIZER)):
            if added["type"] not in kinds:
                made.insert(place, added)
    return made


def admission_control(view: View) -> Values:
    """Configuration by plug-in."""
    documents = view.every("KubeAdmissionControlConfig")
    given = documents or view.of_cluster("apiServer").get("admissionControl") or ()
    return {one.get("name") or "": one.get("configuration") or {} for one in given if one}


def audit_policy(view: View) -> Any:
    document = view.first("KubeAuditPolicyConfig")
    if document is not None:
        return document.get("configuration") or {}
    return view.of_cluster("apiServer").get("auditPolicy") or AUDIT_POLICY


def controller_manager(view: View) -> Values:
    return _component(view, "KubeControllerManagerConfig", "controllerManager")


def scheduler(view: View) -> Values:
    given = view.first("KubeSchedulerConfig")
    config = (given if given is not None else view.of_cluster("scheduler")).get("config") or {}
    return {**_component(view, "KubeSchedulerConfig", "scheduler"), "config": config}


def _component(view: View, kind: str, name: str) -> Values:
    document = view.first(kind)
    if document is not None:
        return {**_pod(document), "enabled": document.get("enabled") is not False, "extraVolumes": []}
    old = view.of_cluster(name)
    disabled = bool(view.of_machine("controlPlane", name).get("disabled"))
    return {**_pod(old), "enabled": not disabled, "extraVolumes": _volumes(old)}


def _pod(given: Mapping[str, Any]) -> Values:
    return {
        "image": given.get("image") or "",
        "extraArgs": arguments(given.get("extraArgs")),
        "env": dict(given.get("env") or {}),
        "resources": resources(given.get("resources")),
    }


def _volumes(given: Mapping[str, Any]) -> list[Values]:
    return [
        {
            "hostPath": one.get("hostPath") or "",
            "mountPath": one.get("mountPath") or "",
            "readonly": bool(one.get("readonly")),
        }
        for one in given.get("extraVolumes") or ()
    ]


def proxy(view: View) -> Values:
    """v1alpha1 configures kube-proxy by flags; those with an equal in its configuration file are given as that."""
    document = view.first("KubeProxyConfig")
    given = document if document is not None else view.of_cluster("proxy")
    enabled = given.get("enabled") is not False if document is not None else not given.get("disabled")
    flags, config = arguments(given.get("extraArgs")), given.get("config") or {}
    if document is None:
        known = [flag for flag in flags if flag in PROXY_FLAGS]
        config = _config(known, flags)
        flags = {flag: value for flag, value in flags.items() if flag not in PROXY_FLAGS}
    return {
        "enabled": enabled,
        "image": given.get("image") or "",
        "mode": given.get("mode") or "nftables",
        "extraArgs": flags,
        "resources": resources(given.get("resources")),
        "config": config,
        "configFile": document is not None,
    }


def proxy_setting(flag: str, value: Any) -> tuple[tuple[str, ...], Any]:
    """The field of kube-proxy's configuration file for a flag, and its value."""
    path = PROXY_FLAGS[flag]
    text = ",".join(texts(value)) if isinstance(value, list | tuple) else str(value)
    if path == ("ipvs", "strictARP"):
        return path, text.lower() == "true"
    return path, text.split(",") if path == ("nodePortAddresses",) else text


def _config(known: list[str], flags: Mapping[str, list[str]]) -> Values:
    made: Values = {}
    for flag in known:
        path, value = proxy_setting(flag, flags[flag])
        inner = made
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value
    return made


def core_dns(view: View) -> Values:
    document = view.first("KubeCoreDNSConfig")
    if document is not None:
        return {"enabled": document.get("enabled") is not False, "image": document.get("image") or ""}
    old = view.of_cluster("coreDNS")
    return {"enabled": not old.get("disabled"), "image": old.get("image") or ""}


def flannel(view: View) -> Values | None:
    """None: another CNI, or none."""
    document = view.first("KubeFlannelCNIConfig")
    if document is not None:
        return {
            "backendType": document.get("backendType") or "",
            "backendPort": document.get("backendPort") or 0,
            "backendMTU": document.get("backendMTU") or 0,
            "backendExtraConfig": document.get("backendExtraConfig") or {},
            "resources": resources(document.get("resources")),
            "extraArgs": texts(document.get("extraArgs")),
            "kubeNetworkPoliciesEnabled": bool(document.get("kubeNetworkPoliciesEnabled")),
        }
    if view.cluster.get("network") is None or cni_name(view) != "flannel":
        return None
    old = view.of_cluster("network", "cni", "flannel")
    return {
        **FLANNEL,
        "backendMTU": 0,
        "backendExtraConfig": {},
        "resources": {},
        "extraArgs": texts(old.get("extraArgs")),
        "kubeNetworkPoliciesEnabled": bool(old.get("kubeNetworkPoliciesEnabled")),
    }


def cni_name(view: View) -> str:
    """The CNI that v1alpha1 names; an absent section means flannel."""
    cni = view.of_cluster("network").get("cni")
    return "flannel" if cni is None else str(cni.get("name") or "")


def etcd_encryption(view: View) -> Any:
    """As kube-apiserver gets it. Names and order of the keys decide whether secrets can still be decrypted."""
    document = view.first("KubeEtcdEncryptionConfig")
    if document is not None:
        return document.get("config") or {}
    found = encryption_providers(view.cluster)
    return {"resources": [{"resources": ["secrets"], "providers": [*found, {"identity": {}}]}]}


def encryption_providers(cluster: Mapping[str, Any]) -> list[Values]:
    """The providers that Talos makes of the two secrets of v1alpha1."""
    keys = (("secretbox", "key2", "secretboxEncryptionSecret"), ("aescbc", "key1", "aescbcEncryptionSecret"))
    return [
        {provider: {"keys": [{"name": name, "secret": cluster[field]}]}}
        for provider, name, field in keys
        if cluster.get(field)
    ]


def service_account(view: View) -> Values | None:
    document = view.first("KubeServiceAccountConfig")
    if document is not None:
        issuer, accepted = section(document, "issuer"), section(document, "accepted")
        url = issuer.get("issuerURL") or ""
        return {
            "key": issuer.get("privateKey") or "",
            "issuerURL": url,
            "acceptedKeys": texts(accepted.get("publicKeys")),
            "acceptedIssuers": texts(accepted.get("issuers")),
            "audiences": texts(accepted.get("audiences")) or [url],
        }
    old, url = view.of_cluster("serviceAccount"), view.of_cluster("controlPlane").get("endpoint") or ""
    if not old:
        return None
    return {
        "key": decoded(old.get("key")),
        "issuerURL": url,
        "acceptedKeys": [],
        "acceptedIssuers": [],
        "audiences": [url],
    }


def talos_api_access(view: View) -> Values | None:
    document = view.first("KubeTalosAPIAccessConfig")
    old = view.of_machine("features", "kubernetesTalosAPIAccess")
    if document is None and not old.get("enabled"):
        return None
    given = document if document is not None else old
    return {
        "allowedRoles": texts(given.get("allowedRoles")),
        "allowedKubernetesNamespaces": texts(given.get("allowedKubernetesNamespaces")),
    }


def inline_manifests(view: View) -> list[Values]:
    made = [
        {"name": one.get("name") or "", "contents": one.get("manifest") or ""}
        for one in view.every("KubeInlineManifestConfig")
    ]
    old = view.cluster.get("inlineManifests") or ()
    return [*made, *({"name": one.get("name") or "", "contents": one.get("contents") or ""} for one in old)]


def external_manifests(view: View) -> list[Values]:
    """What Talos downloads; a URL of v1alpha1 has no name, so names do not count."""
    made = [
        {"url": one.get("url") or "", "headers": dict(one.get("headers") or {})}
        for one in view.every("KubeExternalManifestConfig")
    ]
    headers = dict(view.cluster.get("extraManifestHeaders") or {})
    urls = [*texts(view.cluster.get("extraManifests")), *texts(view.of_cluster("network", "cni").get("urls"))]
    return [*made, *({"url": url, "headers": headers} for url in urls)]
