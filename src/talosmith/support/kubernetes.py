"""What is collected from Kubernetes: nodes, pods and events, in the fields that tell state, never their data.

Secrets and ConfigMaps are not read. Environment, arguments and annotations of pods are left out: people put secrets
there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talosmith.errors import TalosmithError
from talosmith.kube import KubeClient
from talosmith.kube.objects import Object, metadata, spec, status
from talosmith.support.archive import Files

_METADATA = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "labels", "ownerReferences")
_NODE = ("taints", "unschedulable", "podCIDRs", "providerID")
_CONTAINER = ("name", "image", "ready", "started", "restartCount", "state", "lastState")
_EVENT = (
    "type", "reason", "message", "count", "firstTimestamp", "lastTimestamp", "eventTime", "involvedObject",
    "reportingComponent",
)  # fmt: skip


async def collect(kube: KubeClient, files: Files) -> str:
    """Empty, or why Kubernetes could not be asked."""
    kinds: dict[str, Callable[[Object], dict[str, Any]]] = {"Node": _node, "Pod": _pod, "Event": _event}
    for kind, shown in kinds.items():
        path = f"kubernetes/{kind.lower()}s.json"
        try:
            listed = await kube.list("v1", kind)
        except TalosmithError as wrong:
            for missing in list(kinds)[list(kinds).index(kind) :]:
                files.miss(f"kubernetes/{missing.lower()}s.json", str(wrong))
            return str(wrong)
        files.add_json(path, {"items": [shown(one) for one in listed.items]})
    return ""


def _node(item: Object) -> dict[str, Any]:
    state = {key: value for key, value in status(item).items() if key != "images"}
    return {"metadata": _chosen(metadata(item), _METADATA), "spec": _chosen(spec(item), _NODE), "status": state}


def _pod(item: Object) -> dict[str, Any]:
    state = status(item)
    containers = [*(state.get("initContainerStatuses") or ()), *(state.get("containerStatuses") or ())]
    return {
        "metadata": _chosen(metadata(item), _METADATA),
        "spec": {
            **_chosen(spec(item), ("nodeName", "priorityClassName", "hostNetwork")),
            "containers": [_chosen(one, ("name", "image")) for one in spec(item).get("containers") or ()],
        },
        "status": {
            **_chosen(state, ("phase", "reason", "message", "conditions", "podIPs", "hostIP", "startTime")),
            "containers": [_chosen(one, _CONTAINER) for one in containers],
        },
    }


def _event(item: Object) -> dict[str, Any]:
    return {"metadata": _chosen(metadata(item), ("name", "namespace")), **_chosen(item, _EVENT)}


def _chosen(fields: Object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields[name] for name in names if name in fields}
