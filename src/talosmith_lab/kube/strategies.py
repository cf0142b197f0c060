"""What single kinds demand when they are made or changed: a first status, names and addresses given, parts kept."""

from __future__ import annotations

from typing import Any

from talosmith_lab.kube.addresses import assign_addresses
from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Kind, Obj

_KEEPS_STATUS = ("Node", "Event", "Lease")


def starts_without_status(kind: Kind) -> bool:
    return kind.has_status and (kind.custom or kind.kind not in _KEEPS_STATUS)


def before_create(kubernetes: Kubernetes, kind: Kind, obj: Obj, how: How) -> None:
    if kind.custom:
        return
    if starts_without_status(kind):
        obj["status"] = _first_status(kubernetes, kind, obj)
    if kind.kind == "Namespace":
        obj["spec"] = {"finalizers": ["kubernetes"]}
        labels = obj["metadata"].setdefault("labels", {})
        labels["kubernetes.io/metadata.name"] = obj["metadata"].get("name", "")
    elif kind.kind == "Service":
        assign_addresses(kubernetes, obj, None)
    elif kind.kind == "Job":
        _job_selector(obj)
    elif kind.kind == "CertificateSigningRequest":
        spec = obj.setdefault("spec", {})
        spec["username"] = how.user
        spec["groups"] = list(how.groups)
    elif kind.kind == "CustomResourceDefinition":
        _definition_names(obj)


def _gated(kubernetes: Kubernetes) -> Obj:
    words = {"reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates"}
    times = {"lastProbeTime": None, "lastTransitionTime": kubernetes.now()}
    return {"type": "PodScheduled", "status": "False", **times, **words}


def _first_status(kubernetes: Kubernetes, kind: Kind, obj: Obj) -> Obj:
    """As the API server writes the empty status of a kind."""
    name = kind.kind
    if name == "Pod":
        gated = {"conditions": [_gated(kubernetes)]} if (obj.get("spec") or {}).get("schedulingGates") else {}
        return {"phase": "Pending", **gated, "qosClass": quality_of(obj)}
    if name in ("Namespace", "PersistentVolume", "PersistentVolumeClaim"):
        return {"phase": "Active" if name == "Namespace" else "Pending"}
    if name in ("Service", "Ingress"):
        return {"loadBalancer": {}}
    if name == "DaemonSet":
        counters = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
        return dict.fromkeys(counters, 0)
    if name == "ReplicaSet":
        return {"replicas": 0}
    if name == "StatefulSet":
        return {"replicas": 0, "availableReplicas": 0}
    if name == "PodDisruptionBudget":
        return dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0)
    if name == "CustomResourceDefinition":
        stored = [one["name"] for one in (obj.get("spec") or {}).get("versions") or () if one.get("storage")]
        return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}
    return {}


def before_update(kubernetes: Kubernetes, kind: Kind, obj: Obj, old: Obj, subresource: str) -> None:
    """Keep what this way of writing cannot change."""
    if subresource in ("", "scale", "resize", "ephemeralcontainers"):
        if kind.has_status:
            _keep(obj, old, "status")
        if kind.kind == "Service" and not kind.custom:
            assign_addresses(kubernetes, obj, old)
        if kind.kind == "Namespace":
            _keep(obj, old, "spec")
        if kind.kind == "CertificateSigningRequest":
            _keep(obj, old, "spec")
        if kind.kind == "CustomResourceDefinition":
            _definition_names(obj)
        return
    if subresource in ("status", "approval"):
        _keep_all_but_status(kind, obj, old)
    elif subresource == "finalize":
        finalizers = (obj.get("spec") or {}).get("finalizers")
        for name in list(obj):
            if name not in ("metadata", "spec"):
                _keep(obj, old, name)
        _keep(obj, old, "status")
        obj["metadata"] = {**old["metadata"]}
        obj["spec"] = {**(old.get("spec") or {})}
        obj["spec"].pop("finalizers", None)
        if finalizers:
            obj["spec"]["finalizers"] = finalizers


def _keep_all_but_status(kind: Kind, obj: Obj, old: Obj) -> None:
    for name in (obj.keys() | old.keys()) - {"status", "metadata", "kind", "apiVersion"}:
        _keep(obj, old, name)
    if kind.custom:
        fields = obj["metadata"].get("managedFields")
        obj["metadata"] = {**old["metadata"]}
        if fields is not None:
            obj["metadata"]["managedFields"] = fields
    elif kind.group in ("apps", "batch", "policy"):
        _keep(obj["metadata"], old["metadata"], "labels")
    if kind.kind == "CertificateSigningRequest" and (old.get("status") or {}).get("certificate"):
        status = obj.setdefault("status", {})
        status.setdefault("certificate", old["status"]["certificate"])


def _keep(obj: Obj, old: Obj, name: str) -> None:
    obj.pop(name, None)
    if name in old:
        obj[name] = old[name]


def _job_selector(obj: Obj) -> None:
    """Jobs find their pods by the job's own uid, unless told otherwise."""
    spec: Obj = obj.get("spec") or {}
    uid, name = obj["metadata"]["uid"], obj["metadata"].get("name", "")
    if spec.get("manualSelector"):
        return
    labels = spec.setdefault("template", {}).setdefault("metadata", {}).setdefault("labels", {})
    shared = (obj["metadata"].get("labels") or {}) == labels  # the job's own labels follow those of its pods
    labels.update(
        {
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": name,
            "controller-uid": uid,
            "job-name": name,
        }
    )
    if shared:
        obj["metadata"]["labels"] = {**labels}
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def _definition_names(obj: Obj) -> None:
    spec: Obj = obj.get("spec") or {}
    names: Obj = spec.get("names") or {}
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})


def quality_of(pod: Obj) -> str:
    """The class of service that a pod gets by what its containers ask for."""
    spec = pod.get("spec") or {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    asked = [_resources(container) for container in containers]
    if not any(requests or limits for requests, limits in asked):
        return "BestEffort"
    for requests, limits in asked:
        if set(limits) != {"cpu", "memory"} or any(
            requests.get(name, limits[name]) != limits[name] for name in limits
        ):
            return "Burstable"
    return "Guaranteed"


def _resources(container: Obj) -> tuple[dict[str, Any], dict[str, Any]]:
    resources = container.get("resources") or {}
    counted = ("cpu", "memory")
    found = [
        {name: value for name, value in (resources.get(part) or {}).items() if name in counted}
        for part in ("requests", "limits")
    ]
    return found[0], found[1]
