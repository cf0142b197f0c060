"""How objects go: at once, after a grace period, or when no finalizer holds them any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talosmith_lab.kube.cluster import stamp
from talosmith_lab.kube.errors import ApiError, about, bad_request, forbidden, success
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.storage import Stored
from talosmith_lab.kube.writing import copied

if TYPE_CHECKING:
    from talosmith_lab.kube.api import Api

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_KEPT_NAMESPACES = ("default", "kube-system", "kube-public")
# Clients get these objects back as they were last, all others only word of it.
_TELLING = ("Pod", "Service", "ServiceAccount", "PersistentVolumeClaim", "PersistentVolume", "PodTemplate",
            "ReplicationController", "ResourceQuota", "LimitRange", "StorageClass", "VolumeAttachment",
            "CSINode", "CSIDriver", "PodSecurityPolicy", "VolumeAttributesClass")  # fmt: skip


def delete(api: Api, kind: Kind, live: Stored, options: Obj, how: How) -> Obj:
    """What the client gets: the object where it goes on for a while, else word that it is gone."""
    obj = copied(live.obj)
    metadata = obj["metadata"]
    _check(kind, obj, options)
    dry = how.dry_run or bool(options.get("dryRun"))
    grace = _grace(kind, obj, options)
    finalizers = _finalizers(metadata.get("finalizers") or [], options)
    if kind.resource == "namespaces":
        return _delete_namespace(api, kind, live, obj, dry)
    if kind.resource == "customresourcedefinitions.apiextensions.k8s.io":
        finalizers = list(dict.fromkeys([*finalizers, "customresourcecleanup.apiextensions.k8s.io"]))
    if finalizers or grace > 0:
        if _as_before(metadata, finalizers, grace):
            return obj
        first = "deletionTimestamp" not in metadata
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
        metadata["deletionTimestamp"] = stamp(api.kubernetes.world.now() + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if first and "generation" in metadata:
            metadata["generation"] += 1
        return obj if dry else _put(api, kind, obj)
    return _gone(api, kind, obj, dry)


def is_over(kind: Kind, obj: Obj) -> bool:
    """Whether an object that was deleted has nothing left to wait for."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if kind.resource == "namespaces":
        return not (obj.get("spec") or {}).get("finalizers")
    return not metadata.get("deletionGracePeriodSeconds")


def _gone(api: Api, kind: Kind, obj: Obj, dry: bool) -> Obj:
    metadata = obj["metadata"]
    if not dry:
        last = api.remove(kind, metadata["name"], metadata.get("namespace", ""))
        if last is not None:
            metadata["resourceVersion"] = str(last.revision)
    if kind.kind in _TELLING and not kind.custom:
        if kind.kind == "Pod":
            if "deletionTimestamp" not in metadata and "generation" in metadata:
                metadata["generation"] += 1
            metadata["deletionTimestamp"] = api.kubernetes.now()
            metadata["deletionGracePeriodSeconds"] = 0
        return obj
    details = about(kind, metadata["name"], uid=metadata["uid"])
    return success(details)


def _delete_namespace(api: Api, kind: Kind, live: Stored, obj: Obj, dry: bool) -> Obj:
    metadata = obj["metadata"]
    if metadata["name"] in _KEPT_NAMESPACES:
        raise forbidden(kind, metadata["name"], "this namespace may not be deleted")
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = api.kubernetes.now()
        obj.setdefault("status", {})["phase"] = "Terminating"
        return obj if dry else _put(api, kind, obj)
    return _gone(api, kind, obj, dry) if is_over(kind, obj) else obj


def _put(api: Api, kind: Kind, obj: Obj) -> Obj:
    metadata = obj["metadata"]
    return copied(api.put(kind, kind.key(metadata.get("namespace", ""), metadata["name"]), obj))


def _check(kind: Kind, obj: Obj, options: Obj) -> None:
    metadata, wanted = obj["metadata"], options.get("preconditions") or {}
    for field, name, hint in (
        ("uid", "UID", "The object might have been deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "The object might have been modified"),
    ):
        if wanted.get(field) and wanted[field] != metadata[field]:
            why = (
                f"the {name} in the precondition ({wanted[field]}) does not match the {name} in record "
                f"({metadata[field]}). {hint}"
            )
            shown = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
            details = about(kind, metadata["name"])
            details["kind"] = kind.kind
            message = f'Operation cannot be fulfilled on {shown} "{metadata["name"]}": {why}'
            raise ApiError(409, "Conflict", message, details)
    if options.get("orphanDependents") is not None and options.get("propagationPolicy"):
        raise bad_request("orphanDependents and deletionPropagation cannot be both set")


def _grace(kind: Kind, obj: Obj, options: Obj) -> int:
    """Seconds that the object has left. Only pods have any."""
    if kind.resource != "pods":
        return 0
    asked: Any = options.get("gracePeriodSeconds")
    spec, status, metadata = obj.get("spec") or {}, obj.get("status") or {}, obj["metadata"]
    grace = int(spec.get("terminationGracePeriodSeconds", 30) if asked is None else asked)
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if "deletionTimestamp" in metadata:  # it can only get shorter
        left = int(metadata.get("deletionGracePeriodSeconds", 0))
        return left if asked is None else min(left, max(grace, 1) if grace < 0 else grace)
    return 1 if grace < 0 else grace


def _finalizers(present: list[str], options: Obj) -> list[str]:
    policy = options.get("propagationPolicy")
    if options.get("orphanDependents"):
        policy = "Orphan"
    if policy is None:
        return present
    kept = [one for one in present if one not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        return [*kept, ORPHAN]
    return [*kept, FOREGROUND] if policy == "Foreground" else kept


def _as_before(metadata: Obj, finalizers: list[str], grace: int) -> bool:
    return (
        "deletionTimestamp" in metadata
        and finalizers == (metadata.get("finalizers") or [])
        and grace >= int(metadata.get("deletionGracePeriodSeconds", 0))
    )
