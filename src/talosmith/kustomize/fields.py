"""Finds fields by kustomize's paths, which go through lists without naming them, and changes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.resources import Resource

SetValue = Callable[[Any], Any]


@dataclass(frozen=True)
class FieldSpec:
    """A field of objects of one type; an empty part of the type stands for any."""

    path: str
    kind: str = ""
    group: str = ""
    version: str = ""
    create: bool = False


def change(resource: Resource, spec: FieldSpec, set_value: SetValue, *, new: SetValue | None = None) -> None:
    """Set each of the fields to what `set_value` makes of it; `new` makes one that does not exist."""
    if not resource.id.has_type(spec.group, spec.version, spec.kind):
        return
    path = spec.path.replace("\\/", "\0").split("/")
    try:
        _change(resource.content, [part.replace("\0", "/") for part in path], set_value, new if spec.create else None)
    except TypeError as wrong:
        raise ManifestError(f"{resource.id}: {spec.path}: {wrong}") from None


def change_all(resource: Resource, specs: Iterable[FieldSpec], set_value: SetValue, *, new: SetValue | None) -> None:
    for spec in specs:
        change(resource, spec, set_value, new=new)


def _change(node: Any, path: list[str], set_value: SetValue, new: SetValue | None) -> Any:
    if not path:
        return set_value(node)
    if isinstance(node, list):
        node[:] = [_change(one, path, set_value, new) for one in node]
    elif isinstance(node, dict):
        name = path[0].removesuffix("[]")
        may_create = new is not None and name == path[0]
        if node.get(name) is None and may_create and new is not None:
            node[name] = {} if len(path) > 1 else new(None)
        if name in node:
            node[name] = _change(node[name], path[1:], set_value, new)
    elif node is not None:
        raise TypeError("expected a map or a list")
    return node


_WORKLOADS = ("Deployment", "ReplicaSet", "DaemonSet")
_APP = "apps"
_SELECTED_PODS = tuple(
    f"spec/template/spec/{path}/labelSelector/matchLabels"
    for path in (
        "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm",
        "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution",
        "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm",
        "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution",
        "topologySpreadConstraints",
    )
)


def _templates(what: str, stateful_set: FieldSpec) -> tuple[FieldSpec, ...]:
    """Labels or annotations of the objects, and of what they create."""
    template = f"spec/template/metadata/{what}"
    return (
        FieldSpec(f"metadata/{what}", create=True),
        FieldSpec(template, "ReplicationController", version="v1", create=True),
        *(FieldSpec(template, kind, create=True) for kind in _WORKLOADS),
        stateful_set,
        FieldSpec(template, "Job", "batch", create=True),
        FieldSpec(f"spec/jobTemplate/metadata/{what}", "CronJob", "batch", create=True),
        FieldSpec(f"spec/jobTemplate/spec/template/metadata/{what}", "CronJob", "batch", create=True),
    )


OWN_LABELS = (FieldSpec("metadata/labels", create=True),)
CLAIM_LABELS = (FieldSpec("spec/volumeClaimTemplates[]/metadata/labels", "StatefulSet", _APP, create=True),)
TEMPLATE_LABELS = _templates("labels", FieldSpec("spec/template/metadata/labels", "StatefulSet", _APP, create=True))
SELECTOR_LABELS = (
    FieldSpec("spec/selector", "Service", version="v1", create=True),
    FieldSpec("spec/selector", "ReplicationController", version="v1", create=True),
    *(FieldSpec("spec/selector/matchLabels", kind, create=True) for kind in _WORKLOADS),
    FieldSpec("spec/selector/matchLabels", "StatefulSet", _APP, create=True),
    *(FieldSpec(path, kind, _APP) for kind in ("Deployment", "StatefulSet") for path in _SELECTED_PODS),
    FieldSpec("spec/selector/matchLabels", "Job", "batch"),
    FieldSpec("spec/jobTemplate/spec/selector/matchLabels", "CronJob", "batch"),
    FieldSpec("spec/selector/matchLabels", "PodDisruptionBudget", "policy"),
    *(
        FieldSpec(f"spec/{path}/matchLabels", "NetworkPolicy", "networking.k8s.io")
        for path in ("podSelector", "ingress/from/podSelector", "egress/to/podSelector")
    ),
    *TEMPLATE_LABELS,
    *CLAIM_LABELS,
)
ANNOTATIONS = _templates("annotations", FieldSpec("spec/template/metadata/annotations", "StatefulSet", create=True))
REPLICAS = tuple(
    FieldSpec("spec/replicas", kind, create=True)
    for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
)
IMAGES = (
    *(
        FieldSpec(f"{pod}/{path}")
        for pod in ("spec", "spec/template/spec")
        for path in ("containers[]/image", "initContainers[]/image", "volumes[]/image/reference")
    ),
    FieldSpec("spec/jobTemplate/spec/template/spec/volumes[]/image/reference"),
)
NAMESPACES = (
    FieldSpec("spec/service/namespace", "APIService", "apiregistration.k8s.io", create=True),
    FieldSpec(
        "spec/conversion/webhook/clientConfig/service/namespace", "CustomResourceDefinition", "apiextensions.k8s.io"
    ),
)
