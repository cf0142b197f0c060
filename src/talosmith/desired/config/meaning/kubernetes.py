"""What runs on every node for Kubernetes: kubelet, the Node object, the cluster, its network, its CA.

Each function takes both forms and answers with what Talos 1.14 itself would read out of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.desired.config.meaning.view import Values, View, arguments, pair, section, texts

CONTROLPLANE_LABEL = "node-role.kubernetes.io/control-plane"
NO_SCHEDULE = "NoSchedule"
DEFAULT_DOMAIN = "cluster.local"
DEFAULT_PODS = "10.244.0.0/16"
DEFAULT_SERVICES = "10.96.0.0/12"
KUBE_PRISM_PORT = 7445
_MASKS = {"nodeCIDRMaskSizeIPv4": 24, "nodeCIDRMaskSizeIPv6": 64}


def kubelet(view: View) -> Values:
    document = view.first("KubeletConfig")
    old = view.of_machine("kubelet")
    given = document or old
    return {
        "image": given.get("image") or "",
        "config": given.get("config" if document else "extraConfig") or {},
        "extraArgs": arguments(given.get("extraArgs")),
        "clusterDNS": texts(given.get("clusterDNS")),
        "defaultRuntimeSeccompProfileEnabled": bool(given.get("defaultRuntimeSeccompProfileEnabled")),
        "extraMounts": [] if document else list(old.get("extraMounts") or ()),
        "disableManifestsDirectory": True if document else bool(old.get("disableManifestsDirectory")),
    }


def credential_provider(view: View) -> Any:
    document = view.first("KubeCredentialProviderConfig")
    if document is not None:
        return document.get("configuration") or {}
    return view.of_machine("kubelet").get("credentialProviderConfig") or {}


def node(view: View) -> Values:
    """Labels and taints as the Node object gets them: in v1alpha1 Talos adds those of control planes itself."""
    document = view.first("KubeNodeConfig")
    if document is not None:
        return _node(document, document.get("labels"), document.get("taints"), document.get("annotations"))
    labels, taints = dict(view.machine.get("nodeLabels") or {}), dict(view.machine.get("nodeTaints") or {})
    if view.is_controlplane:
        labels[CONTROLPLANE_LABEL] = ""
        if not schedules_on_controlplanes(view.cluster):
            taints[CONTROLPLANE_LABEL] = NO_SCHEDULE
    return _node(view.of_machine("kubelet"), labels, taints, view.machine.get("nodeAnnotations"))


def schedules_on_controlplanes(cluster: Mapping[str, Any]) -> bool:
    allowed = cluster.get("allowSchedulingOnControlPlanes")
    return bool(cluster.get("allowSchedulingOnMasters") if allowed is None else allowed)


def _node(given: Mapping[str, Any], labels: Any, taints: Any, annotations: Any) -> Values:
    return {
        "skipNodeRegistration": bool(given.get("skipNodeRegistration")),
        "registerWithFQDN": bool(given.get("registerWithFQDN")),
        "validSubnets": texts(section(given, "nodeIP").get("validSubnets")),
        "labels": dict(labels or {}),
        "taints": dict(taints or {}),
        "annotations": dict(annotations or {}),
    }


def cluster(view: View) -> Values:
    document = view.first("KubeClusterConfig")
    if document is not None:
        return {"name": document.get("clusterName") or "", "endpoint": document.get("endpoint") or ""}
    endpoint = view.of_cluster("controlPlane").get("endpoint") or ""
    return {"name": view.cluster.get("clusterName") or "", "endpoint": endpoint}


def network(view: View) -> Values | None:
    document = view.first("KubeNetworkConfig")
    given = document if document is not None else view.cluster.get("network")
    if given is None:
        return None
    pods, services = texts(given.get("podSubnets")), texts(given.get("serviceSubnets"))
    if document is None:
        pods, services = pods or [DEFAULT_PODS], services or [DEFAULT_SERVICES]
    return {
        "dnsDomain": given.get("dnsDomain") or DEFAULT_DOMAIN,
        "podSubnets": pods,
        "serviceSubnets": services,
        **{key: given.get(key) or default for key, default in _MASKS.items()},
    }


def kubernetes_ca(view: View) -> Values:
    """The issuing CA with its key (control planes), and every accepted certificate: the issuing one first."""
    document = view.first("KubeAPIServerCAConfig")
    if document is not None:
        issuing = _given_pair(document.get("issuingCA"))
        return {"issuing": issuing, "accepted": _accepted(issuing, document.get("acceptedCAs"))}
    issuing = pair(view.cluster.get("ca"))
    others = [(pair(one) or {}).get("cert", "") for one in view.cluster.get("acceptedCAs") or ()]
    accepted = _accepted(issuing, others)
    return {"issuing": issuing if issuing and issuing["key"] else None, "accepted": accepted}


def aggregator_ca(view: View) -> Values:
    document = view.first("KubeAggregatorCAConfig")
    if document is not None:
        issuing = _given_pair(document.get("issuingCA"))
        return {"issuing": issuing, "accepted": _accepted(issuing, document.get("acceptedCAs"))}
    issuing = pair(view.cluster.get("aggregatorCA"))
    return {"issuing": issuing, "accepted": _accepted(issuing, ())}


def _given_pair(value: Any) -> dict[str, str] | None:
    if not value:
        return None
    return {"cert": value.get("cert") or "", "key": value.get("key") or ""}


def _accepted(issuing: Mapping[str, str] | None, others: Any) -> list[str]:
    first = [issuing["cert"]] if issuing and issuing["cert"] else []
    return [*first, *texts(others)]


def kube_prism(view: View) -> Values | None:
    document = view.first("KubePrismConfig")
    if document is not None:
        return {"port": document.get("port") or 0, "tlsServerName": document.get("tlsServerName") or ""}
    old = view.of_machine("features", "kubePrism")
    return {"port": old.get("port") or KUBE_PRISM_PORT, "tlsServerName": ""} if old.get("enabled") else None


def static_pods(view: View) -> list[Values]:
    made = [{"name": one.get("name") or "", "pod": one.get("pod") or {}} for one in view.every("KubeStaticPodConfig")]
    return [*made, *({"name": static_pod_name(pod), "pod": pod} for pod in view.machine.get("pods") or () if pod)]


def static_pod_name(pod: Mapping[str, Any]) -> str:
    """What Talos calls a pod of `machine.pods`, which has no name of its own."""
    metadata = section(pod, "metadata")
    names = (metadata.get("namespace"), metadata.get("name"))
    return "-".join(name if isinstance(name, str) else "default" for name in names)
