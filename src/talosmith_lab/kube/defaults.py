"""What the API server fills into workloads, pods and services where a client said nothing.

Only what the lab's controllers, the product or `kubectl` read; `kubectl describe` ends with an error where some of it
is missing.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from talosmith_lab.kube.kinds import Kind, Obj

_ROLLING = "RollingUpdate"


def fill_defaults(kind: Kind, obj: Obj) -> None:
    """Add to the object itself. Nothing that a client has set is changed."""
    fill = _FILLS.get(kind.resource) if not kind.custom else None
    if fill is not None:
        fill(obj)


def _set(place: Obj, **values: Any) -> None:
    for name, value in values.items():
        if place.get(name) in (None, ""):
            place[name] = value


def _part(place: Obj, name: str) -> Obj:
    if not isinstance(place.get(name), dict):
        place[name] = {}
    found: Obj = place[name]
    return found


def _pod_spec(spec: Obj) -> None:
    _set(spec, restartPolicy="Always", dnsPolicy="ClusterFirst", schedulerName="default-scheduler")
    _set(spec, terminationGracePeriodSeconds=30, securityContext={})
    for part in ("containers", "initContainers"):
        for container in spec.get(part) or ():
            image = str(container.get("image", "")).rpartition("/")[2]
            moves = "@" not in image and image.partition(":")[2] in ("", "latest")
            _set(container, imagePullPolicy="Always" if moves else "IfNotPresent", resources={})
            _set(container, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")
            for port in container.get("ports") or ():
                _set(port, protocol="TCP")
            for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
                if container.get(probe):
                    _set(container[probe], timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)


def _pod(obj: Obj) -> None:
    _pod_spec(_part(obj, "spec"))


def _template(spec: Obj) -> None:
    template = _part(spec, "template")
    _part(template, "metadata")
    _pod_spec(_part(template, "spec"))


def _deployment(obj: Obj) -> None:
    spec = _part(obj, "spec")
    _template(spec)
    _set(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = _part(spec, "strategy")
    _set(strategy, type=_ROLLING)
    if strategy["type"] == _ROLLING:
        _set(_part(strategy, "rollingUpdate"), maxUnavailable="25%", maxSurge="25%")


def _replica_set(obj: Obj) -> None:
    spec = _part(obj, "spec")
    _template(spec)
    _set(spec, replicas=1)


def _stateful_set(obj: Obj) -> None:
    spec = _part(obj, "spec")
    _template(spec)
    _set(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    strategy = _part(spec, "updateStrategy")
    _set(strategy, type=_ROLLING)
    if strategy["type"] == _ROLLING:
        _set(_part(strategy, "rollingUpdate"), partition=0)
    for claim in spec.get("volumeClaimTemplates") or ():
        _set(claim, apiVersion="v1", kind="PersistentVolumeClaim")


def _daemon_set(obj: Obj) -> None:
    spec = _part(obj, "spec")
    _template(spec)
    _set(spec, revisionHistoryLimit=10)
    strategy = _part(spec, "updateStrategy")
    _set(strategy, type=_ROLLING)
    if strategy["type"] == _ROLLING:
        _set(_part(strategy, "rollingUpdate"), maxUnavailable=1, maxSurge=0)


def _job(obj: Obj) -> None:
    spec = _part(obj, "spec")
    _template(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    _set(spec, parallelism=1, backoffLimit=6, completionMode="NonIndexed", suspend=False)


def _cron_job(obj: Obj) -> None:
    spec = _part(obj, "spec")
    _set(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    _template(_part(_part(spec, "jobTemplate"), "spec"))


def _service(obj: Obj) -> None:
    spec = _part(obj, "spec")
    _set(spec, type="ClusterIP", sessionAffinity="None")
    for port in spec.get("ports") or ():
        _set(port, protocol="TCP", targetPort=port.get("port", 0))


def _secret(obj: Obj) -> None:
    _set(obj, type="Opaque")
    for name, text in (obj.pop("stringData", None) or {}).items():
        obj.setdefault("data", {})[name] = base64.b64encode(str(text).encode()).decode()


_FILLS: Mapping[str, Callable[[Obj], None]] = {
    "pods": _pod,
    "services": _service,
    "secrets": _secret,
    "deployments.apps": _deployment,
    "replicasets.apps": _replica_set,
    "statefulsets.apps": _stateful_set,
    "daemonsets.apps": _daemon_set,
    "jobs.batch": _job,
    "cronjobs.batch": _cron_job,
}
