"""The fields by which objects name each other.

They are those that kustomize knows, with its gaps: a ReplicationController's ConfigMaps, or a ReplicaSet's
ServiceAccount, keep their names.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from talosmith.kustomize.fields import FieldSpec

_RBAC = "rbac.authorization.k8s.io"
_WEBHOOKS = "admissionregistration.k8s.io"
_POD_SPECS = {
    "Pod": "spec",
    "PodTemplate": "template/spec",
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job"), "spec/template/spec"),
    "ReplicationController": "spec/template/spec",
    "CronJob": "spec/jobTemplate/spec/template/spec",
}
_CONFIG_USERS = [kind for kind in _POD_SPECS if kind != "ReplicationController"]
_OTHER_USERS = [kind for kind in _POD_SPECS if kind not in ("ReplicaSet", "PodTemplate")]


@dataclass(frozen=True)
class Target:
    """A type of objects that others refer to, and the fields by which they do."""

    kind: str
    group: str = ""
    version: str = ""
    fields: tuple[FieldSpec, ...] = ()


def _pods(kinds: list[str], *paths: str) -> list[FieldSpec]:
    return [FieldSpec(f"{_POD_SPECS[kind]}/{path}", kind) for kind in kinds for path in paths]


def _in_pods(what: str, volume: str, *more: str) -> list[FieldSpec]:
    """How pods use a ConfigMap or Secret."""
    containers = [
        f"{list_}/{path}/name"
        for list_ in ("containers", "initContainers")
        for path in (f"env/valueFrom/{what}KeyRef", f"envFrom/{what}Ref")
    ]
    return _pods(_CONFIG_USERS, volume, f"volumes/projected/sources/{what}/name", *containers, *more)


def _kind(kind: str, *paths: str, group: str = "") -> list[FieldSpec]:
    return [FieldSpec(path, kind, group) for path in paths]


_INGRESS = "metadata/annotations/nginx.ingress.kubernetes.io\\/"
_ROLE_NAMES = [*_kind("Role", "rules/resourceNames"), *_kind("ClusterRole", "rules/resourceNames")]
_CONFIG_MAP = [
    *_in_pods("configMap", "volumes/configMap/name"),
    *_kind("Node", "spec/configSource/configMap"),
    *_kind("Ingress", f"{_INGRESS}fastcgi-params-configmap"),
    *_ROLE_NAMES,
]
_SECRET = [
    *_in_pods("secret", "volumes/secret/secretName", "imagePullSecrets/name"),
    *_kind("Ingress", "spec/tls/secretName", "metadata/annotations/ingress.kubernetes.io\\/auth-secret"),
    *_kind("Ingress", f"{_INGRESS}auth-secret", f"{_INGRESS}auth-tls-secret"),
    *_kind("ServiceAccount", "imagePullSecrets/name"),
    *_kind("StorageClass", *(f"parameters/{one}" for one in ("secretName", "adminSecretName", "userSecretName"))),
    *_kind("StorageClass", "parameters/secretRef"),
    *_kind("PersistentVolume", "spec/azureFile/secretName"),
    FieldSpec(
        "spec/template/spec/containers/env/valueFrom/secretKeyRef/name", "Service", "serving.knative.dev", "v1"
    ),
    *_ROLE_NAMES,
]
_SERVICE = [
    *_kind("StatefulSet", "spec/serviceName", group="apps"),
    *_kind("Ingress", "spec/rules/http/paths/backend/serviceName", "spec/backend/serviceName"),
    *_kind("Ingress", "spec/rules/http/paths/backend/service/name", "spec/defaultBackend/service/name"),
    *_kind("APIService", "spec/service/name", group="apiregistration.k8s.io"),
    *_kind("ValidatingWebhookConfiguration", "webhooks/clientConfig/service", group=_WEBHOOKS),
    *_kind("MutatingWebhookConfiguration", "webhooks/clientConfig/service", group=_WEBHOOKS),
]
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_TARGETS = (
    *(
        Target(kind, fields=(FieldSpec("spec/scaleTargetRef/name", "HorizontalPodAutoscaler"),))
        for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
    ),
    Target("ConfigMap", "", "v1", tuple(_CONFIG_MAP)),
    Target("Secret", "", "v1", tuple(_SECRET)),
    Target("Service", "", "v1", tuple(_SERVICE)),
    Target("Role", _RBAC, "", tuple(_kind("RoleBinding", "roleRef/name", group=_RBAC))),
    Target("ClusterRole", _RBAC, "", tuple(FieldSpec("roleRef/name", kind, _RBAC) for kind in _BINDINGS)),
    Target(
        "ServiceAccount",
        "",
        "v1",
        (*(FieldSpec("subjects", kind, _RBAC) for kind in _BINDINGS), *_pods(_OTHER_USERS, "serviceAccountName")),
    ),
    Target("PersistentVolumeClaim", "", "v1", tuple(_pods(_OTHER_USERS, "volumes/persistentVolumeClaim/claimName"))),
    Target(
        "PersistentVolume",
        "",
        "v1",
        (*_kind("PersistentVolumeClaim", "spec/volumeName"), *_kind("ClusterRole", "rules/resourceNames")),
    ),
    Target(
        "StorageClass",
        "storage.k8s.io",
        "v1",
        (
            *_kind("PersistentVolume", "spec/storageClassName"),
            *_kind("PersistentVolumeClaim", "spec/storageClassName"),
            *_kind("StatefulSet", "spec/volumeClaimTemplates/spec/storageClassName"),
        ),
    ),
    Target("PriorityClass", "scheduling.k8s.io", "v1", tuple(_pods(_OTHER_USERS, "priorityClassName"))),
    Target(
        "ValidatingAdmissionPolicy",
        _WEBHOOKS,
        "",
        tuple(_kind("ValidatingAdmissionPolicyBinding", "spec/policyName", group=_WEBHOOKS)),
    ),
)
BY_REFERRER: dict[str, list[tuple[FieldSpec, Target]]] = defaultdict(list)
for _target in _TARGETS:
    for _field in _target.fields:
        BY_REFERRER[_field.kind].append((_field, _target))
