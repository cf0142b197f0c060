"""What an API server adds to new objects by itself, as Talos sets it up: accounts and tolerations of pods, taints."""

from __future__ import annotations

from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.errors import forbidden
from talosmith_lab.kube.kinds import Kind, Obj, find

ACCOUNT = find("v1", "ServiceAccount")
PRIORITY = find("scheduling.k8s.io/v1", "PriorityClass")
STORAGE = find("storage.k8s.io/v1", "StorageClass")
_DEFAULT_STORAGE = "storageclass.kubernetes.io/is-default-class"
_MIRROR = "kubernetes.io/config.mirror"
_TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount"
_AWAY = 300  # seconds that pods stay on a node that is not ready


def on_create(kubernetes: Kubernetes, kind: Kind, obj: Obj) -> None:
    if kind.custom:
        return
    if kind.kind == "Pod":
        _priority(kubernetes, kind, obj)
        _tolerations(obj)
        if _MIRROR not in (obj["metadata"].get("annotations") or {}):
            _account(kubernetes, obj)
    elif kind.kind == "Node":
        taints = obj.setdefault("spec", {}).setdefault("taints", [])
        if not any(taint["key"] == "node.kubernetes.io/not-ready" for taint in taints):
            taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    elif kind.kind == "PersistentVolumeClaim" and "storageClassName" not in (obj.get("spec") or {}):
        _storage_class(kubernetes, obj)


def on_update(kind: Kind, obj: Obj) -> None:
    """What is added again if a change has left it out."""
    if kind.kind == "Pod" and not kind.custom:
        _tolerations(obj)


def _priority(kubernetes: Kubernetes, kind: Kind, pod: Obj) -> None:
    spec = pod.setdefault("spec", {})
    name = spec.get("priorityClassName")
    found = kubernetes.storage.get(PRIORITY.key("", name)) if name else None
    if name and found is None:
        raise forbidden(kind, pod["metadata"]["name"], f"no PriorityClass with name {name} was found")
    chosen = found.obj if found is not None else _default_priority(kubernetes)
    if chosen and not name:
        spec["priorityClassName"] = chosen["metadata"]["name"]
    spec["priority"] = chosen.get("value", 0)
    spec.setdefault("preemptionPolicy", chosen.get("preemptionPolicy", "PreemptLowerPriority"))


def _default_priority(kubernetes: Kubernetes) -> Obj:
    for _, stored in kubernetes.storage.under(PRIORITY.root):
        if stored.obj.get("globalDefault"):
            return stored.obj
    return {}


def _tolerations(pod: Obj) -> None:
    tolerations = list(pod["spec"].get("tolerations") or ())
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_tolerates(one, key) for one in tolerations):
            added: Obj = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _AWAY}
            tolerations.append(added)
    pod["spec"]["tolerations"] = tolerations


def _tolerates(toleration: Obj, key: str) -> bool:
    return toleration.get("key") in (None, "", key) and toleration.get("effect") in (None, "", "NoExecute")


def _account(kubernetes: Kubernetes, pod: Obj) -> None:
    """The namespace's account, and its token where containers look for it. Without accounts, nothing."""
    metadata, spec = pod["metadata"], pod["spec"]
    name = spec.get("serviceAccountName") or "default"
    found = kubernetes.storage.get(ACCOUNT.key(metadata["namespace"], name))
    if found is None:
        return
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    mounted = spec.get("automountServiceAccountToken", found.obj.get("automountServiceAccountToken", True))
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    bare = [one for one in containers if all(m["mountPath"] != _TOKENS for m in one.get("volumeMounts") or ())]
    if not mounted or not bare:
        return
    volume = f"kube-api-access-{metadata['uid'][:5]}"
    for container in bare:
        container.setdefault("volumeMounts", []).append({"name": volume, "readOnly": True, "mountPath": _TOKENS})
    spec.setdefault("volumes", []).append({"name": volume, "projected": _projected()})


def _projected() -> Obj:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"sources": sources, "defaultMode": 420}


def _storage_class(kubernetes: Kubernetes, claim: Obj) -> None:
    for _, stored in kubernetes.storage.under(STORAGE.root):
        annotations = stored.obj["metadata"].get("annotations") or {}
        if annotations.get(_DEFAULT_STORAGE) == "true":
            claim.setdefault("spec", {})["storageClassName"] = stored.obj["metadata"]["name"]
            return
