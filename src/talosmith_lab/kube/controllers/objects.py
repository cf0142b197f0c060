"""Small questions to objects that all controllers ask."""

from __future__ import annotations

import json
from collections.abc import Iterable

from talosmith_lab.clock import drawn
from talosmith_lab.kube.kinds import Kind, Obj, find

POD = find("v1", "Pod")
NODE = find("v1", "Node")
SERVICE = find("v1", "Service")
NAMESPACE = find("v1", "Namespace")
DEPLOYMENT = find("apps/v1", "Deployment")
REPLICA_SET = find("apps/v1", "ReplicaSet")
STATEFUL_SET = find("apps/v1", "StatefulSet")
DAEMON_SET = find("apps/v1", "DaemonSet")
REVISION = find("apps/v1", "ControllerRevision")
JOB = find("batch/v1", "Job")
BUDGET = find("policy/v1", "PodDisruptionBudget")

MIRROR = "kubernetes.io/config.mirror"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def key_of(obj: Obj) -> str:
    """`namespace/name`, or the name of what is in none."""
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def split(key: str) -> tuple[str, str]:
    """Name and namespace, in the order in which the API wants them."""
    namespace, _, name = key.rpartition("/")
    return name, namespace


def controller_of(obj: Obj) -> Obj | None:
    """The owner that looks after it, as it is referred to."""
    for one in obj["metadata"].get("ownerReferences") or ():
        if one.get("controller"):
            found: Obj = one
            return found
    return None


def reference(kind: Kind, owner: Obj) -> Obj:
    """How what is owned refers to its controller."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def going(obj: Obj) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def phase(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def is_over(pod: Obj) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def is_active(pod: Obj) -> bool:
    return not going(pod) and not is_over(pod)


def is_ready(pod: Obj) -> bool:
    return has(pod, "Ready")


def is_mirror(pod: Obj) -> bool:
    return MIRROR in (pod["metadata"].get("annotations") or {})


def condition(obj: Obj, kind: str) -> Obj | None:
    for one in (obj.get("status") or {}).get("conditions") or ():
        if one["type"] == kind:
            found: Obj = one
            return found
    return None


def has(obj: Obj, kind: str) -> bool:
    found = condition(obj, kind)
    return found is not None and found["status"] == "True"


def with_condition(conditions: Iterable[Obj] | None, new: Obj, now: str, *, updated: bool = False) -> list[Obj]:
    """With one in the place of that of its type. Its time is that of its last change of status."""
    found, placed = [], False
    for one in conditions or ():
        if one["type"] != new["type"]:
            found.append(one)
            continue
        placed = True
        same = one["status"] == new["status"]
        since = one.get("lastTransitionTime", now) if same else now
        if updated:
            told = (one.get("reason"), one.get("message")) == (new.get("reason"), new.get("message"))
            new = {**new, "lastUpdateTime": one.get("lastUpdateTime", now) if same and told else now}
        found.append({**new, "lastTransitionTime": since})
    if not placed:
        found.append({**new, **({"lastUpdateTime": now} if updated else {}), "lastTransitionTime": now})
    return found


def labels_of(obj: Obj) -> Obj:
    return obj["metadata"].get("labels") or {}


def annotations_of(obj: Obj) -> Obj:
    return obj["metadata"].get("annotations") or {}


def hashed(*parts: object) -> str:
    """Ten letters that stand for a template, in the alphabet Kubernetes uses for it."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    number = int.from_bytes(drawn(text)[:4], "big")
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(number))


def share(value: object, total: int, *, up: bool) -> int:
    """A number, or a percentage of a total."""
    if isinstance(value, str) and value.endswith("%"):
        exact = int(value[:-1]) * total
        return -(-exact // 100) if up else exact // 100
    return int(str(value or 0))
