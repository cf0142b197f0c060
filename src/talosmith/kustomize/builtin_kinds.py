"""What kustomize knows about Kubernetes' own kinds: which are cluster-scoped, and which lists are merged by a key.

Of other kinds it assumes that they are namespaced, and that a patch replaces their lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_CLUSTER_SCOPED = {
    f"{group}/{version}".lstrip("/"): frozenset(kinds.split())
    for group, versions, kinds in (
        ("", "v1", "ComponentStatus Namespace Node PersistentVolume"),
        ("admissionregistration.k8s.io", "v1beta1", "MutatingWebhookConfiguration ValidatingWebhookConfiguration"),
        (
            "admissionregistration.k8s.io",
            "v1",
            "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy "
            "ValidatingAdmissionPolicyBinding",
        ),
        ("apiextensions.k8s.io", "v1 v1beta1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "v1 v1beta1", "APIService"),
        ("certificates.k8s.io", "v1 v1beta1", "CertificateSigningRequest"),
        ("flowcontrol.apiserver.k8s.io", "v1beta1", "FlowSchema PriorityLevelConfiguration"),
        ("networking.k8s.io", "v1 v1beta1", "IngressClass"),
        ("node.k8s.io", "v1 v1beta1", "RuntimeClass"),
        ("policy", "v1beta1", "PodSecurityPolicy"),
        ("rbac.authorization.k8s.io", "v1 v1beta1", "ClusterRole ClusterRoleBinding"),
        ("scheduling.k8s.io", "v1 v1beta1", "PriorityClass"),
        ("storage.k8s.io", "v1 v1beta1", "CSIDriver CSINode StorageClass VolumeAttachment"),
    )
    for version in versions.split()
}


def is_cluster_scoped(api_version: str, kind: str) -> bool:
    return kind in _CLUSTER_SCOPED.get(api_version, ())


@dataclass(frozen=True)
class MergedList:
    """A list whose elements are merged by the values of these keys; by their own value where there is no key."""

    keys: tuple[str, ...] = ()
    elements: Mapping[str, Any] = field(default_factory=dict)


Schema = Mapping[str, Any]  # field -> Schema or MergedList; of other fields nothing is known

_NAMED = MergedList(("name",))
_METADATA = {"finalizers": MergedList(), "ownerReferences": MergedList(("uid",))}
_DEBUG_CONTAINER = {
    "env": _NAMED,
    "volumeDevices": MergedList(("devicePath",)),
    "volumeMounts": MergedList(("mountPath",)),
}
_CONTAINER = {**_DEBUG_CONTAINER, "ports": MergedList(("containerPort", "protocol"))}
_POD = {
    "containers": MergedList(("name",), _CONTAINER),
    "initContainers": MergedList(("name",), _CONTAINER),
    "ephemeralContainers": MergedList(("name",), _DEBUG_CONTAINER),
    "hostAliases": MergedList(("ip",)),
    "imagePullSecrets": _NAMED,
    "topologySpreadConstraints": MergedList(("topologyKey", "whenUnsatisfiable")),
    "volumes": _NAMED,
}
_TEMPLATE = {"metadata": _METADATA, "spec": _POD}
_WORKLOAD = {"metadata": _METADATA, "spec": {"template": _TEMPLATE}}
_WEBHOOKS = {"metadata": _METADATA, "webhooks": _NAMED}
_SCHEMAS: dict[str, Schema] = {
    "v1 Pod": _TEMPLATE,
    "v1 PodTemplate": {"metadata": _METADATA, "template": _TEMPLATE},
    "v1 Service": {"metadata": _METADATA, "spec": {"ports": MergedList(("port", "protocol"))}},
    "v1 ServiceAccount": {"metadata": _METADATA, "secrets": _NAMED},
    "batch/v1 CronJob": {"metadata": _METADATA, "spec": {"jobTemplate": _WORKLOAD}},
    **dict.fromkeys(
        [
            "v1 ReplicationController",
            "batch/v1 Job",
            *(f"apps/v1 {kind}" for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
        ],
        _WORKLOAD,
    ),
    **dict.fromkeys(
        [f"admissionregistration.k8s.io/v1 {kind}WebhookConfiguration" for kind in ("Mutating", "Validating")],
        _WEBHOOKS,
    ),
}
_OTHERS = {"metadata": _METADATA}
_OTHER_VERSIONS = frozenset(
    ["v1", "batch/v1", "autoscaling/v1", "policy/v1", "apps/v1", "coordination.k8s.io/v1", "networking.k8s.io/v1"]
    + [version for version in _CLUSTER_SCOPED if version.endswith("/v1")]
)


def schema_of(value: Any) -> Schema | None:
    """The merged lists of an object of Kubernetes' own."""
    if not isinstance(value, dict):
        return None
    version, kind = value.get("apiVersion"), value.get("kind")
    return _SCHEMAS.get(f"{version} {kind}") or (_OTHERS if version in _OTHER_VERSIONS and kind else None)
