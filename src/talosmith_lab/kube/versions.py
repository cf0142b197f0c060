"""The few kinds that are served in two versions, and how one becomes the other."""

from __future__ import annotations

from talosmith_lab.kube.kinds import Obj

_EVENT = {  # core/v1 to events.k8s.io/v1
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}


def converted(obj: Obj, api_version: str) -> Obj:
    """The object in another version. Of custom kinds, and of most builtin ones, only the version's name differs."""
    made = {**obj, "apiVersion": api_version}
    if obj["kind"] == "Event":
        names = _EVENT if api_version.startswith("events.") else {new: old for old, new in _EVENT.items()}
        return {names.get(name, name): value for name, value in made.items()}
    if obj["kind"] == "HorizontalPodAutoscaler":
        return {**made, "spec": _scaling(obj["spec"], api_version)}
    return made


def _scaling(spec: Obj, api_version: str) -> Obj:
    """CPU is the one measure that the first version knows."""
    if api_version == "autoscaling/v1":
        kept = {name: value for name, value in spec.items() if name not in ("metrics", "behavior")}
        for metric in spec.get("metrics") or ():
            resource = metric.get("resource") or {}
            if resource.get("name") == "cpu" and "averageUtilization" in resource.get("target", {}):
                kept["targetCPUUtilizationPercentage"] = resource["target"]["averageUtilization"]
        return kept
    percentage = spec.get("targetCPUUtilizationPercentage")
    kept = {name: value for name, value in spec.items() if name != "targetCPUUtilizationPercentage"}
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        kept["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    return kept
