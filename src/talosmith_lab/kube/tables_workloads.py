"""The cells of what makes pods: deployments, sets, jobs, and what watches over them."""

from __future__ import annotations

from typing import Any

from talosmith_lab.kube.tables_columns import (
    NONE,
    UNKNOWN,
    UNSET,
    Obj,
    age,
    containers,
    human_duration,
    labels,
    name_of,
    seconds_of,
    selector,
    since,
    some,
)

_TARGETS_SHOWN = 2


def deployment(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    return [
        name_of(item),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(item, now),
        *containers(spec.get("template")),
        selector(spec.get("selector")),
    ]


def replica_set(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    return [
        name_of(item),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(item, now),
        *containers(spec.get("template")),
        selector(spec.get("selector")),
    ]


def replication_controller(item: Obj, now: float) -> list[Any]:
    return [*replica_set(item, now)[:-1], labels(item.get("spec", {}).get("selector"))]


def daemon_set(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    template = spec.get("template") or {}
    counted = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    return [
        name_of(item),
        *(status.get(field, 0) for field in (*counted, "updatedNumberScheduled", "numberAvailable")),
        labels(template.get("spec", {}).get("nodeSelector")),
        age(item, now),
        *containers(template),
        selector(spec.get("selector")),
    ]


def stateful_set(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name_of(item), ready, age(item, now), *containers(spec.get("template"))]


def job(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    done, at_once = status.get("succeeded", 0), spec.get("parallelism", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    else:
        completions = f"{done}/1 of {at_once}" if at_once > 1 else f"{done}/1"
    duration = ""
    if status.get("startTime"):
        end = seconds_of(status["completionTime"]) if status.get("completionTime") else now
        duration = human_duration(end - seconds_of(status["startTime"]))
    return [
        name_of(item),
        _job_status(item),
        completions,
        duration,
        age(item, now),
        *containers(spec.get("template")),
        selector(spec.get("selector")),
    ]


def _job_status(item: Obj) -> str:
    conditions = item.get("status", {}).get("conditions") or []
    met = {one["type"] for one in conditions if one.get("status") == "True"}
    for ended in ("Complete", "Failed"):
        if ended in met:
            return ended
    if "deletionTimestamp" in item["metadata"]:
        return "Terminating"
    return next((one for one in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if one in met), "Running")


def cron_job(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    job_spec = (spec.get("jobTemplate") or {}).get("spec", {})
    last = status.get("lastScheduleTime")
    return [
        name_of(item),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        "True" if spec.get("suspend") else "False",
        len(status.get("active") or []),
        since(last, now) if last else NONE,
        age(item, now),
        *containers(job_spec.get("template")),
        selector(job_spec.get("selector")),
    ]


def controller_revision(item: Obj, now: float) -> list[Any]:
    owners = item["metadata"].get("ownerReferences") or []
    owner = next((one for one in owners if one.get("controller")), None)
    group = (
        (owner or {}).get("apiVersion", "").partition("/")[0] if "/" in (owner or {}).get("apiVersion", "") else ""
    )
    kind = (owner or {}).get("kind", "").lower()
    told = f"{kind}{f'.{group}' if group else ''}/{owner['name']}" if owner else NONE
    return [name_of(item), told, item.get("revision", 0), age(item, now)]


def disruption_budget(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    allowed = [str(spec.get(field, "N/A")) for field in ("minAvailable", "maxUnavailable")]
    return [name_of(item), *allowed, status.get("disruptionsAllowed", 0), age(item, now)]


def autoscaler(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    current = status.get("currentMetrics") or []
    told = [
        _target(metric, current[index] if index < len(current) else {})
        for index, metric in enumerate(spec.get("metrics") or [])
    ]
    return [
        name_of(item),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        some(told, _TARGETS_SHOWN).replace(",", ", "),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(item, now),
    ]


def _target(metric: Obj, current: Obj) -> str:
    """What is measured and what it should be."""
    field = metric["type"][:1].lower() + metric["type"][1:]
    asked, found = metric.get(field) or {}, (current.get(field) or {}).get("current") or {}
    target = asked.get("target") or {}
    if field in ("resource", "containerResource"):
        if target.get("averageValue") is not None:
            return f"{asked['name']}: {found.get('averageValue', UNKNOWN)}/{target['averageValue']}"
        used = found.get("averageUtilization")
        wanted = target.get("averageUtilization")
        told = UNKNOWN if used is None else f"{used}%"
        return f"{asked['name']}: {told}/{'<auto>' if wanted is None else f'{wanted}%'}"
    if target.get("averageValue") is not None:
        average = "" if field == "pods" else " (avg)"
        return f"{found.get('averageValue', UNKNOWN)}/{target['averageValue']}{average}"
    return f"{found.get('value', UNKNOWN)}/{target.get('value', '')}"


def priority_class(item: Obj, now: float) -> list[Any]:
    policy = item.get("preemptionPolicy") or ""
    return [name_of(item), item.get("value", 0), bool(item.get("globalDefault")), age(item, now), policy]


def pod_template(item: Obj, now: float) -> list[Any]:
    template = item.get("template") or {}
    return [name_of(item), *containers(template), labels(template.get("metadata", {}).get("labels"))]


def runtime_class(item: Obj, now: float) -> list[Any]:
    return [name_of(item), item.get("handler", ""), age(item, now)]
