"""What happens to an object between a client's words and etcd: its metadata, its status, what its kind demands."""

from __future__ import annotations

import json
from typing import Any

from talosmith_lab.clock import drawn
from talosmith_lab.kube import admission, shapes, strategies, validation
from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.errors import ApiError, bad_request, conflict, forbidden, not_found
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Kind, Obj, find
from talosmith_lab.kube.storage import Stored

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE = 58
_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")
_UNCOUNTED = (  # kinds whose changes are not counted
    "ConfigMap", "Secret", "Event", "Lease", "Namespace", "Node", "ServiceAccount", "Endpoints",
    "PersistentVolume", "PersistentVolumeClaim", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding",
    "HorizontalPodAutoscaler",
    "StorageClass", "CSINode", "CSIDriver", "Service", "ResourceQuota", "LimitRange", "CertificateSigningRequest",
    "ControllerRevision", "VolumeAttachment", "RuntimeClass", "APIService",
)  # fmt: skip
NAMESPACE = find("v1", "Namespace")


def copied(obj: Obj) -> Obj:
    """A copy that shares nothing."""
    copy: Obj = json.loads(json.dumps(obj))
    return copy


def for_creation(
    kubernetes: Kubernetes, kind: Kind, obj: Obj, namespace: str, how: How, owned: list[Obj] | None = None
) -> Obj:
    """The object as it will be; raises what is wrong with it. `owned`: the owners of its fields, if known already."""
    metadata = _identified(kind, obj, namespace)
    if owned is None and metadata.get("resourceVersion"):
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    metadata.pop("managedFields", None)
    for name in (*_SYSTEM, "resourceVersion"):
        metadata.pop(name, None)
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = _generated(kubernetes, metadata["generateName"])
    _check_namespace(kubernetes, kind, metadata)
    obj = shapes.decoded(kind, obj)
    if strategies.starts_without_status(kind):
        obj.pop("status", None)
    # Owners are noted before the server adds what is its own.
    if owned is None:
        obj = shapes.tracked(kubernetes, kind, None, obj, how)
    elif owned:
        obj["metadata"]["managedFields"] = owned
    metadata = obj["metadata"]
    metadata["uid"] = kubernetes.world.unique("uid", kind.plural, metadata.get("name"))
    metadata["creationTimestamp"] = kubernetes.now()
    if counts(kind):
        metadata["generation"] = 1
    strategies.before_create(kubernetes, kind, obj, how)
    admission.on_create(kubernetes, kind, obj)
    validation.check(kind, obj, None)
    return _ordered(obj)


def for_update(
    kubernetes: Kubernetes, kind: Kind, live: Stored, obj: Obj, how: How, subresource: str = "", *, track: bool = True
) -> Obj:
    """The object as it will be after an update of the live one, or of a part of it."""
    old = live.obj
    metadata, was = obj["metadata"], old["metadata"]
    if metadata.get("uid") and metadata["uid"] != was["uid"]:
        problem = (
            f"StorageError: invalid object, Code: 4, Key: {kind.key(was.get('namespace', ''), was['name'])}, "
            f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {metadata['uid']}, "
            f"UID in object meta: {was['uid']}"
        )
        raise conflict(kind, was["name"], problem)
    obj = shapes.decoded(kind, obj)
    metadata = obj["metadata"]
    for name in (*_SYSTEM, "name", "namespace", "generateName"):
        metadata.pop(name, None)
        if name in was:
            metadata[name] = was[name]
    strategies.before_update(kubernetes, kind, obj, old, subresource)
    if not subresource:
        admission.on_update(kind, obj)
    if counts(kind) and _differs(kind, obj, old):
        obj["metadata"]["generation"] = int(was.get("generation", 0)) + 1
    if track:
        obj = shapes.tracked(kubernetes, kind, old, obj, how, subresource)
    validation.check(kind, obj, old, subresource)
    return _ordered(obj)


def counts(kind: Kind) -> bool:
    """Whether changes are counted in `metadata.generation`."""
    return kind.custom or kind.kind not in _UNCOUNTED


def _differs(kind: Kind, obj: Obj, old: Obj) -> bool:
    """Whether the wish has changed: the spec, or for kinds without a status anything but the metadata."""
    ignored = {"metadata", "apiVersion", "kind", *(("status",) if kind.has_status or not kind.custom else ())}
    notes, noted = (one["metadata"].get("annotations") for one in (obj, old))
    if kind.resource == "deployments.apps" and notes != noted:
        return True  # of all kinds this one counts its annotations too
    return any(obj.get(name) != old.get(name) for name in (obj.keys() | old.keys()) - ignored)


def same(obj: Obj, live: Obj) -> bool:
    """Whether an update changes nothing; times of ownership do not count."""
    one, other = _bare(obj), _bare(live)
    return one == other


def _bare(obj: Obj) -> Obj:
    metadata = {**obj["metadata"]}
    metadata.pop("resourceVersion", None)
    metadata["managedFields"] = [{**one, "time": ""} for one in metadata.get("managedFields") or ()]
    return {**obj, "metadata": metadata}


def _identified(kind: Kind, obj: Obj, namespace: str) -> Obj:
    check_type(kind, obj)
    metadata = obj.get("metadata")
    if metadata is None:
        metadata = obj["metadata"] = {}
    if not kind.namespaced:
        metadata.pop("namespace", None)
        return metadata
    if metadata.get("namespace") and namespace and metadata["namespace"] != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = metadata.get("namespace") or namespace or "default"
    return metadata


def check_type(kind: Kind, obj: Obj) -> None:
    stated, version = obj.get("kind") or kind.kind, obj.get("apiVersion") or kind.api_version
    if stated != kind.kind:
        short = version.rpartition("/")[2]
        raise bad_request(f'{stated} in version "{short}" cannot be handled as a {kind.kind}')
    if version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    obj["kind"], obj["apiVersion"] = kind.kind, kind.api_version


def _generated(kubernetes: Kubernetes, base: str) -> str:
    kubernetes.world.counter += 1
    number = int.from_bytes(drawn(kubernetes.world.seed, "name", base, kubernetes.world.counter), "big")
    letters = ""
    for _ in range(5):
        number, rest = divmod(number, len(_LETTERS))
        letters += _LETTERS[rest]
    return base[:_LONGEST_BASE] + letters


def _check_namespace(kubernetes: Kubernetes, kind: Kind, metadata: Obj) -> None:
    if not kind.namespaced or not kind.stored_as:
        return
    name = metadata["namespace"]
    found = kubernetes.storage.get(NAMESPACE.key("", name))
    if found is None:
        raise not_found(NAMESPACE, name)
    if found.obj["metadata"].get("deletionTimestamp"):
        why = f"unable to create new content in namespace {name} because it is being terminated"
        cause: Obj = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {name} is being terminated",
            "field": "metadata.namespace",
        }
        raise forbidden(kind, metadata.get("name", ""), why, [cause])


def _ordered(obj: Obj) -> Obj:
    return {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": obj["metadata"], **obj}


def version_of(obj: Obj, kind: Kind) -> int | None:
    """The resourceVersion that a client insists on, if it does."""
    text: Any = obj["metadata"].get("resourceVersion")
    if not text or text == "0":
        return None
    try:
        return int(text)
    except ValueError:
        problem = f'invalid resource version: strconv.ParseUint: parsing "{text}": invalid syntax'
        raise ApiError(400, "BadRequest", problem) from None
