"""The cells of nodes, namespaces, events, and what a cluster keeps beside its workloads."""

from __future__ import annotations

from typing import Any

from talosmith_lab.kube.tables_columns import (
    NONE,
    UNKNOWN,
    UNSET,
    Obj,
    age,
    human_duration,
    name_of,
    since,
)

_ROLE = "node-role.kubernetes.io/"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def node(item: Obj, now: float) -> list[Any]:
    status = item.get("status", {})
    info = status.get("nodeInfo") or {}
    return [
        name_of(item),
        _node_status(item),
        ",".join(_roles(item)) or NONE,
        age(item, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        _kernel(info),
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _kernel(info: Obj) -> str:
    version, architecture = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    return f"{version} ({architecture})" if architecture else version


def _node_status(item: Obj) -> str:
    conditions = item.get("status", {}).get("conditions") or []
    ready = next((one.get("status") for one in conditions if one["type"] == "Ready"), None)
    told = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{told},SchedulingDisabled" if item.get("spec", {}).get("unschedulable") else told


def _roles(item: Obj) -> list[str]:
    found = set()
    for key, value in (item["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE) and len(key) > len(_ROLE):
            found.add(key.removeprefix(_ROLE))
        elif key == "kubernetes.io/role" and value:
            found.add(value)
    return sorted(found)


def _address(status: Obj, kind: str) -> str:
    found = status.get("addresses") or []
    return next((str(one["address"]) for one in found if one["type"] == kind), NONE)


def namespace(item: Obj, now: float) -> list[Any]:
    return [name_of(item), item.get("status", {}).get("phase", ""), age(item, now)]


def config_map(item: Obj, now: float) -> list[Any]:
    return [name_of(item), len(item.get("data") or {}) + len(item.get("binaryData") or {}), age(item, now)]


def secret(item: Obj, now: float) -> list[Any]:
    return [name_of(item), item.get("type", ""), len(item.get("data") or {}), age(item, now)]


def only_age(item: Obj, now: float) -> list[Any]:
    return [name_of(item), age(item, now)]


def event(item: Obj, now: float) -> list[Any]:
    """Of either version: the newer one gives other names to the same fields."""
    about = item.get("involvedObject") or item.get("regarding") or {}
    first = since(item.get("firstTimestamp") or item.get("deprecatedFirstTimestamp") or item.get("eventTime"), now)
    last = item.get("lastTimestamp") or item.get("deprecatedLastTimestamp")
    series = item.get("series")
    count = item.get("count") or item.get("deprecatedCount") or 1
    seen = since(last, now) if last else first
    if series:
        seen, count = since(series.get("lastObservedTime"), now), series.get("count", 0)
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    return [
        seen,
        item.get("type", ""),
        item.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        _source(item),
        (item.get("message") or item.get("note") or "").strip(),
        first,
        count,
        name_of(item),
    ]


def _source(item: Obj) -> str:
    source = item.get("source") or item.get("deprecatedSource") or {}
    who = source.get("component") or item.get("reportingComponent") or item.get("reportingController") or ""
    host = source.get("host") or item.get("reportingInstance") or ""
    return f"{who}, {host}" if host else str(who)


def component(item: Obj, now: float) -> list[Any]:
    """Its health is told in words, its age is not."""
    told = next((one for one in item.get("conditions") or [] if one["type"] == "Healthy"), None)
    status = "Unknown" if told is None else "Healthy" if told["status"] == "True" else "Unhealthy"
    return [name_of(item), status, *((told or {}).get(field, "") for field in ("message", "error"))]


def lease(item: Obj, now: float) -> list[Any]:
    return [name_of(item), item.get("spec", {}).get("holderIdentity", ""), age(item, now)]


def binding(item: Obj, now: float) -> list[Any]:
    role = item.get("roleRef") or {}
    told: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for one in item.get("subjects") or []:
        who = f"{one.get('namespace', '')}/{one['name']}" if one["kind"] == "ServiceAccount" else one["name"]
        told[one["kind"]].append(who)
    subjects = [", ".join(found) for found in told.values()]
    return [name_of(item), f"{role.get('kind', '')}/{role.get('name', '')}", age(item, now), *subjects]


def signing_request(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    asked = spec.get("expirationSeconds")
    return [
        name_of(item),
        age(item, now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if asked is None else human_duration(asked),
        _signing_state(status),
    ]


def _signing_state(status: Obj) -> str:
    met = {one["type"] for one in status.get("conditions") or []}
    told = "Denied" if "Denied" in met else "Approved" if "Approved" in met else "Pending"
    if "Failed" in met:
        told += ",Failed"
    return f"{told},Issued" if status.get("certificate") else told


def volume(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    claim = spec.get("claimRef")
    return [
        name_of(item),
        (spec.get("capacity") or {}).get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(item),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(item),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(item, now),
        spec.get("volumeMode") or UNSET,
    ]


def claim(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    bound = bool(spec.get("volumeName"))
    return [
        name_of(item),
        _phase(item),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        _class(item),
        spec.get("volumeAttributesClassName") or UNSET,
        age(item, now),
        spec.get("volumeMode") or UNSET,
    ]


def _class(item: Obj) -> str:
    older = (item["metadata"].get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return str(older if older is not None else item.get("spec", {}).get("storageClassName") or "")


def _phase(item: Obj) -> str:
    if "deletionTimestamp" in item["metadata"]:
        return "Terminating"
    return str(item.get("status", {}).get("phase", ""))


def _modes(found: list[str] | None) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in (found or []))


def storage_class(item: Obj, now: float) -> list[Any]:
    annotations = item["metadata"].get("annotations") or {}
    is_default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{name_of(item)} (default)" if is_default else name_of(item),
        item.get("provisioner", ""),
        item.get("reclaimPolicy") or "Delete",
        item.get("volumeBindingMode") or "Immediate",
        bool(item.get("allowVolumeExpansion")),
        age(item, now),
    ]


def quota(item: Obj, now: float) -> list[Any]:
    hard, used = (item.get("status", {}).get(field) or {} for field in ("hard", "used"))
    told: tuple[list[str], list[str]] = ([], [])
    for name in sorted(hard):
        told["limits" in name].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [name_of(item), *(", ".join(found) for found in told), age(item, now)]


def api_service(item: Obj, now: float) -> list[Any]:
    service = item.get("spec", {}).get("service")
    conditions = item.get("status", {}).get("conditions") or []
    available: Obj = next((one for one in conditions if one["type"] == "Available"), {})
    state = available.get("status", "Unknown")
    if state != "True" and available.get("reason"):
        state = f"{state} ({available['reason']})"
    where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    return [name_of(item), where, state, age(item, now)]


def webhooks(item: Obj, now: float) -> list[Any]:
    return [name_of(item), len(item.get("webhooks") or []), age(item, now)]


def csi_node(item: Obj, now: float) -> list[Any]:
    return [name_of(item), len(item.get("spec", {}).get("drivers") or []), age(item, now)]


def csi_driver(item: Obj, now: float) -> list[Any]:
    spec = item.get("spec", {})
    audiences = [one.get("audience", "") for one in spec.get("tokenRequests") or []]
    return [
        name_of(item),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(audiences) or UNSET,
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or []) or NONE,
        age(item, now),
    ]


def attachment(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    volume = (spec.get("source") or {}).get("persistentVolumeName", "")
    attached = bool(status.get("attached"))
    return [name_of(item), spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached, age(item, now)]


def attributes_class(item: Obj, now: float) -> list[Any]:
    annotations = item["metadata"].get("annotations") or {}
    is_default = annotations.get("volumeattributesclass.kubernetes.io/is-default-class") == "true"
    name = f"{name_of(item)} (default)" if is_default else name_of(item)
    return [name, item.get("driverName", ""), age(item, now)]


def flow_schema(item: Obj, now: float) -> list[Any]:
    spec = item.get("spec", {})
    conditions = item.get("status", {}).get("conditions") or []
    return [
        name_of(item),
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        spec.get("matchingPrecedence", 0),
        (spec.get("distinguisherMethod") or {}).get("type") or NONE,
        age(item, now),
        next((one["status"] for one in conditions if one["type"] == "Dangling"), "?"),
    ]


def priority_level(item: Obj, now: float) -> list[Any]:
    spec = item.get("spec", {})
    limited = spec.get("limited") or {}
    queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
    return [
        name_of(item),
        spec.get("type", ""),
        limited.get("nominalConcurrencyShares", NONE),
        *(queuing.get(field, NONE) for field in ("queues", "handSize", "queueLengthLimit")),
        age(item, now),
    ]
