"""The cells of a table's row, for the kinds that have columns of their own."""

from __future__ import annotations

from typing import Any

from talosmith_lab.kube.cluster import seconds_of
from talosmith_lab.kube.kinds import Obj

NONE, UNKNOWN = "<none>", "<unknown>"
_ROLE = "node-role.kubernetes.io/"
_UNITS = ((365 * 86400, "y"), (86400, "d"), (3600, "h"), (60, "m"))


def plain(item: Obj, now: float) -> list[Any]:
    return [_name(item), _age(item, now)]


def _name(item: Obj) -> str:
    return str(item["metadata"].get("name", ""))


def _age(item: Obj, now: float) -> str:
    return _since(item["metadata"].get("creationTimestamp"), now)


def _since(timestamp: str | None, now: float) -> str:
    return duration(now - seconds_of(timestamp)) if timestamp else UNKNOWN


def duration(seconds: float) -> str:
    """In the largest unit of which there are at least two."""
    whole = max(0, int(seconds))
    for unit, mark in _UNITS:
        if whole >= 2 * unit:
            return f"{whole // unit}{mark}"
    return f"{whole}s"


def _parts(item: Obj) -> tuple[Obj, Obj]:
    return item.get("spec") or {}, item.get("status") or {}


def _condition(status: Obj, name: str) -> str:
    return next((str(one["status"]) for one in status.get("conditions") or () if one["type"] == name), "")


def pod(item: Obj, now: float) -> list[Any]:
    spec, status = _parts(item)
    states = status.get("containerStatuses") or []
    ready = f"{sum(bool(one.get('ready')) for one in states)}/{len(spec.get('containers') or ())}"
    restarts = sum(one.get("restartCount", 0) for one in states)
    address, node_name = status.get("podIP") or NONE, spec.get("nodeName") or NONE
    return [_name(item), ready, _pod_status(item), str(restarts), _age(item, now), address, node_name]


def _pod_status(item: Obj) -> str:
    """What holds the pod up, else its phase."""
    _, status = _parts(item)
    phase = str(status.get("reason") or status.get("phase") or "")
    if "deletionTimestamp" in item["metadata"] and phase not in ("Succeeded", "Failed"):
        return "Terminating"
    for prefix, part in (("Init:", "initContainerStatuses"), ("", "containerStatuses")):
        for one in status.get(part) or ():
            state = one.get("state") or {}
            ended = state.get("terminated") or {}
            reason = (state.get("waiting") or {}).get("reason") or ended.get("reason")
            if reason and not (prefix and ended.get("exitCode") == 0):
                return f"{prefix}{reason}"
    return phase


def node(item: Obj, now: float) -> list[Any]:
    spec, status = _parts(item)
    info = status.get("nodeInfo") or {}
    told = {"True": "Ready", "": "Unknown"}.get(_condition(status, "Ready"), "NotReady")
    if spec.get("unschedulable"):
        told += ",SchedulingDisabled"
    labels = item["metadata"].get("labels") or {}
    roles = sorted(key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE))
    found = {one["type"]: one["address"] for one in reversed(status.get("addresses") or ())}
    return [
        _name(item),
        told,
        ",".join(roles) or NONE,
        _age(item, now),
        info.get("kubeletVersion", ""),
        found.get("InternalIP", NONE),
        found.get("ExternalIP", NONE),
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def namespace(item: Obj, now: float) -> list[Any]:
    return [_name(item), _parts(item)[1].get("phase", ""), _age(item, now)]


def service(item: Obj, now: float) -> list[Any]:
    spec, status = _parts(item)
    outside = [*(spec.get("externalIPs") or ())]
    outside += [
        one.get("ip") or one.get("hostname") for one in (status.get("loadBalancer") or {}).get("ingress") or ()
    ]
    waits = "<pending>" if spec.get("type") == "LoadBalancer" else NONE
    ports = [
        f"{one['port']}{':' + str(one['nodePort']) if one.get('nodePort') else ''}/{one.get('protocol', 'TCP')}"
        for one in spec.get("ports") or ()
    ]
    return [
        _name(item),
        spec.get("type", ""),
        spec.get("clusterIP") or NONE,
        spec.get("externalName") or ",".join(outside) or waits,
        ",".join(ports) or NONE,
        _age(item, now),
    ]


def event(item: Obj, now: float) -> list[Any]:
    about = item.get("involvedObject") or {}
    target = f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"
    seen = item.get("lastTimestamp") or item.get("eventTime") or item["metadata"].get("creationTimestamp")
    return [_since(seen, now), item.get("type", ""), item.get("reason", ""), target, item.get("message", "").strip()]


def deployment(item: Obj, now: float) -> list[Any]:
    spec, status = _parts(item)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    counts = (status.get("updatedReplicas", 0), status.get("availableReplicas", 0))
    return [_name(item), ready, *counts, _age(item, now)]


def replica_set(item: Obj, now: float) -> list[Any]:
    spec, status = _parts(item)
    counts = (spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0))
    return [_name(item), *counts, _age(item, now)]


def daemon_set(item: Obj, now: float) -> list[Any]:
    counted = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
               "numberAvailable")  # fmt: skip
    return [_name(item), *(_parts(item)[1].get(one, 0) for one in counted), _age(item, now)]


def stateful_set(item: Obj, now: float) -> list[Any]:
    spec, status = _parts(item)
    return [_name(item), f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}", _age(item, now)]


def job(item: Obj, now: float) -> list[Any]:
    spec, status = _parts(item)
    ended = [one for one in ("Complete", "Failed", "Suspended") if _condition(status, one) == "True"]
    done = f"{status.get('succeeded', 0)}/{spec.get('completions', 1)}"
    return [_name(item), ended[0] if ended else "Running", done, _age(item, now)]


def disruption_budget(item: Obj, now: float) -> list[Any]:
    spec, status = _parts(item)
    bounds = (str(spec.get(name, "N/A")) for name in ("minAvailable", "maxUnavailable"))
    return [_name(item), *bounds, status.get("disruptionsAllowed", 0), _age(item, now)]


def signing_request(item: Obj, now: float) -> list[Any]:
    spec, status = _parts(item)
    told = [one["type"] for one in status.get("conditions") or ()] or ["Pending"]
    told += ["Issued"] if status.get("certificate") else []
    return [_name(item), _age(item, now), spec.get("signerName", ""), spec.get("username", ""), ",".join(told)]
