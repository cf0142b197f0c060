"""The status of pods at the stages of their lives, as kubelets write it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from talosmith_lab.clock import drawn
from talosmith_lab.kube.controllers.objects import with_condition
from talosmith_lab.kube.kinds import Obj

_KUBELET = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def image_id(image: str) -> str:
    return f"{image.rpartition(':')[0] or image}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def container_id(pod: Obj, container: str, restarts: int) -> str:
    uid = pod["metadata"]["uid"]
    return f"containerd://{drawn(uid, container, restarts).hex()}{drawn(restarts, container, uid).hex()}"


def creating(pod: Obj, now: str, host: str, reason: str = "ContainerCreating", message: str = "") -> Obj:
    """It has a node, and its containers are being made."""
    waiting = {"reason": reason, **({"message": message} if message else {})}
    status = _base(pod, "Pending", now, host, "")
    status["conditions"] = _conditions(pod, now, started=False, ready=False)
    status["containerStatuses"] = [
        _container(one, {"waiting": waiting}, 0, ready=False, started=False) for one in _containers(pod)
    ]
    inits = pod["spec"].get("initContainers")
    if inits:
        status["initContainerStatuses"] = [
            _container(one, {"waiting": {"reason": "PodInitializing"}}, 0, ready=False, started=False)
            for one in inits
        ]
    return status


def running(pod: Obj, now: str, host: str, address: str, *, ready: bool = True, restarts: int = 0) -> Obj:
    status = _base(pod, "Running", now, host, address)
    status["conditions"] = _conditions(pod, now, started=True, ready=ready)
    status["containerStatuses"] = [
        {
            **_container(one, {"running": {"startedAt": now}}, restarts, ready=ready, started=True),
            "containerID": container_id(pod, one["name"], restarts),
            "imageID": image_id(one.get("image", "")),
            **_last(pod, one["name"], restarts),
        }
        for one in _containers(pod)
    ]
    inits = pod["spec"].get("initContainers")
    if inits:
        status["initContainerStatuses"] = [_finished(pod, one, now, now, 0, restarts) for one in inits]
    return status


def crashed(pod: Obj, now: str, code: int) -> Obj:
    """Its containers have ended badly, and will be started again after a while."""
    before = pod["status"]
    statuses = []
    for one in before.get("containerStatuses") or ():
        began = (one["state"].get("running") or {}).get("startedAt", now)
        over = _terminated(began, now, code, one.get("containerID", ""))
        waiting = {
            "reason": "CrashLoopBackOff",
            "message": f"back-off {min(300, 10 * 2 ** one['restartCount'])}s restarting failed container="
            f"{one['name']} pod={pod['metadata']['name']}_{pod['metadata']['namespace']}({pod['metadata']['uid']})",
        }
        told = {**one, "state": {"waiting": waiting}, "lastState": {"terminated": over}}
        statuses.append({**told, "ready": False, "started": False})
    conditions = _unready(before.get("conditions"), now, "ContainersNotReady", _names(pod))
    return {**before, "conditions": conditions, "containerStatuses": statuses}


def ended(pod: Obj, now: str, code: int) -> Obj:
    """All containers are done, and are not started again."""
    before = pod["status"]
    statuses = []
    for one in before.get("containerStatuses") or ():
        began = (one["state"].get("running") or {}).get("startedAt", now)
        over = _terminated(began, now, code, one.get("containerID", ""))
        statuses.append({**one, "state": {"terminated": over}, "ready": False, "started": False})
    reason = "PodCompleted" if code == 0 else "PodFailed"
    conditions = _unready(before.get("conditions"), now, reason, "")
    conditions = with_condition(conditions, {"type": "PodReadyToStartContainers", "status": "False"}, now)
    phase = "Succeeded" if code == 0 else "Failed"
    return {**before, "phase": phase, "conditions": conditions, "containerStatuses": statuses}


def unready(pod: Obj, now: str, reason: str = "") -> Obj:
    """Its node is lost, so its state is unknown."""
    before = pod.get("status") or {}
    told = {"type": "Ready", "status": "False", "lastProbeTime": None, **({"reason": reason} if reason else {})}
    return {**before, "conditions": with_condition(before.get("conditions"), told, now)}


def ready_again(pod: Obj, now: str) -> Obj:
    before = pod.get("status") or {}
    conditions = before.get("conditions")
    for kind in ("Ready", "ContainersReady"):
        conditions = with_condition(conditions, {"type": kind, "status": "True", "lastProbeTime": None}, now)
    return {**before, "conditions": conditions}


def _base(pod: Obj, phase: str, now: str, host: str, address: str) -> Obj:
    before = pod.get("status") or {}
    status: Obj = {"phase": phase, "hostIP": host, "hostIPs": [{"ip": host}]}
    if address:
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    status |= {"startTime": before.get("startTime") or now, "qosClass": before.get("qosClass", "BestEffort")}
    if "observedGeneration" in before or pod["metadata"].get("generation"):
        status["observedGeneration"] = pod["metadata"].get("generation", 1)
    return status


def _conditions(pod: Obj, now: str, *, started: bool, ready: bool) -> list[Obj]:
    found: list[Obj] = list((pod.get("status") or {}).get("conditions") or ())
    good = {
        "PodReadyToStartContainers": started,
        "Initialized": started or not pod["spec"].get("initContainers"),
        "Ready": ready,
        "ContainersReady": ready,
        "PodScheduled": True,
    }
    for kind in _KUBELET:
        told: Obj = {"type": kind, "status": "True" if good[kind] else "False", "lastProbeTime": None}
        if not good[kind] and kind in ("Ready", "ContainersReady"):
            told |= {"reason": "ContainersNotReady", "message": _names(pod)}
        found = with_condition(found, told, now)
    return sorted(found, key=lambda one: _KUBELET.index(one["type"]) if one["type"] in _KUBELET else -1)


def _unready(conditions: Iterable[Obj] | None, now: str, reason: str, message: str) -> list[Obj]:
    words = {"reason": reason, **({"message": message} if message else {})}
    found = list(conditions or ())
    for kind in ("Ready", "ContainersReady"):
        found = with_condition(found, {"type": kind, "status": "False", "lastProbeTime": None, **words}, now)
    return found


def _names(pod: Obj) -> str:
    names = " ".join(one["name"] for one in _containers(pod))
    return f"containers with unready status: [{names}]"


def _containers(pod: Obj) -> list[Obj]:
    found: list[Obj] = pod["spec"].get("containers") or []
    return found


def _container(container: Obj, state: Obj, restarts: int, *, ready: bool, started: bool) -> Obj:
    return {
        "name": container["name"],
        "state": state,
        "lastState": {},
        "ready": ready,
        "restartCount": restarts,
        "image": container.get("image", ""),
        "imageID": "",
        "started": started,
    }


def _last(pod: Obj, name: str, restarts: int) -> Obj:
    """How the container ended before, if it did."""
    if not restarts:
        return {}
    for one in (pod.get("status") or {}).get("containerStatuses") or ():
        if one["name"] == name:
            return {"lastState": one.get("lastState") or {}}
    return {}


def _terminated(began: str, now: str, code: int, identity: str) -> Obj:
    reason = "Completed" if code == 0 else "Error"
    return {"exitCode": code, "reason": reason, "startedAt": began, "finishedAt": now, "containerID": identity}


def _finished(pod: Obj, container: Obj, began: str, now: str, code: int, restarts: int) -> Obj:
    identity = container_id(pod, container["name"], restarts)
    state = {"terminated": _terminated(began, now, code, identity)}
    told = _container(container, state, restarts, ready=code == 0, started=False)
    return {**told, "containerID": identity, "imageID": image_id(container.get("image", ""))}
