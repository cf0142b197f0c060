"""What can be waited for: named conditions of objects, judged from the object alone, each with the reason why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from talosmith.kube.objects import Object, Ref, condition, metadata, spec, status

CRD_API = "apiextensions.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it is so, why or why not, and whether there is any point in waiting on."""

    ok: bool
    reason: str = ""
    hopeless: bool = False


@dataclass(frozen=True, slots=True)
class Awaited:
    """A condition of one object. `judge` is given None where there is no such object."""

    name: str
    ref: Ref
    judge: Callable[[Object | None], Verdict]


def ready(ref: Ref) -> Awaited:
    """Doing its work, by the rules of its kind; for kinds without such, by its condition `Ready`."""
    judge = _RULES.get((ref.group, ref.kind))
    return Awaited(f"{ref} ready", ref, _there(judge or (lambda item: has(item, "Ready"))))


def condition_met(ref: Ref, kind: str, wanted: str = "True") -> Awaited:
    """Any condition: `condition_met(ref, "Available")`."""
    name = f"{ref} {kind}" if wanted == "True" else f"{ref} {kind}={wanted}"
    return Awaited(name, ref, _there(lambda item: has(item, kind, wanted)))


def established(ref: Ref) -> Awaited:
    """A CustomResourceDefinition whose kind is served."""
    return Awaited(f"{ref} established", ref, _there(_established))


def exists(ref: Ref) -> Awaited:
    return Awaited(f"{ref} there", ref, _there(lambda item: Verdict(True)))


def gone(ref: Ref) -> Awaited:
    return Awaited(f"{ref} gone", ref, _gone)


def has(item: Object, kind: str, wanted: str = "True") -> Verdict:
    """Whether a condition has a value, judged on the newest spec only."""
    found = condition(item, kind)
    if found is None:
        return Verdict(False, f"no condition {kind} yet")
    seen = found.get("observedGeneration")
    if isinstance(seen, int) and seen < _generation(item):
        return Verdict(False, "the last change has not been seen yet")
    words = ": ".join(str(part) for part in (found.get("reason"), found.get("message")) if part)
    return Verdict(found.get("status") == wanted, words or f"{kind} is {found.get('status')}")


def _there(judge: Callable[[Object], Verdict]) -> Callable[[Object | None], Verdict]:
    return lambda item: Verdict(False, "not there") if item is None else judge(item)


def _gone(item: Object | None) -> Verdict:
    if item is None:
        return Verdict(True)
    holders = metadata(item).get("finalizers") or ()
    if not metadata(item).get("deletionTimestamp"):
        return Verdict(False, "not being deleted")
    return Verdict(False, f"held by {', '.join(holders)}" if holders else "still being deleted")


def _established(item: Object) -> Verdict:
    refused = condition(item, "NamesAccepted")
    if refused is not None and refused.get("status") == "False":
        return Verdict(False, f"its names are taken: {refused.get('message')}")
    return has(item, "Established")


def _generation(item: Object) -> int:
    return int(metadata(item).get("generation") or 0)


def _unseen(item: Object) -> Verdict | None:
    if int(status(item).get("observedGeneration") or 0) < _generation(item):
        return Verdict(False, "the last change has not been seen yet")
    return None


def _counted(what: str, have: int, want: int, item: Object) -> Verdict:
    if have >= want:
        return Verdict(True, f"{have} of {want} {what}")
    return Verdict(False, f"{have} of {want} {what}{_trouble(item)}")


def _trouble(item: Object) -> str:
    """What a controller says about why it does not get on."""
    for kind, bad in (("ReplicaFailure", "True"), ("Progressing", "False")):
        found = condition(item, kind)
        if found is not None and found.get("status") == bad:
            return f" ({found.get('message') or found.get('reason')})"
    return ""


def _number(item: Object, field: str) -> int:
    return int(status(item).get(field) or 0)


def _wanted_replicas(item: Object) -> int:
    return int(spec(item).get("replicas", 1))


def _deployment(item: Object) -> Verdict:
    if unseen := _unseen(item):
        return unseen
    want = _wanted_replicas(item)
    updated = _counted("pods are of the new kind", _number(item, "updatedReplicas"), want, item)
    if not updated.ok:
        return updated
    old = _number(item, "replicas") - _number(item, "updatedReplicas")
    if old > 0:
        return Verdict(False, f"{old} old pods are still there{_trouble(item)}")
    return _counted("pods are available", _number(item, "availableReplicas"), want, item)


def _daemon_set(item: Object) -> Verdict:
    if unseen := _unseen(item):
        return unseen
    want = _number(item, "desiredNumberScheduled")
    if (spec(item).get("updateStrategy") or {}).get("type") != "OnDelete":
        updated = _counted("pods are of the new kind", _number(item, "updatedNumberScheduled"), want, item)
        if not updated.ok:
            return updated
    return _counted("pods are available", _number(item, "numberAvailable"), want, item)


def _stateful_set(item: Object) -> Verdict:
    if unseen := _unseen(item):
        return unseen
    want = _wanted_replicas(item)
    ready_ones = _counted("pods are ready", _number(item, "readyReplicas"), want, item)
    strategy = spec(item).get("updateStrategy") or {}
    if not ready_ones.ok or strategy.get("type") == "OnDelete":
        return ready_ones
    to_update = want - int((strategy.get("rollingUpdate") or {}).get("partition") or 0)
    return _counted("pods are of the new kind", _number(item, "updatedReplicas"), max(0, to_update), item)


def _replica_set(item: Object) -> Verdict:
    return _unseen(item) or _counted(
        "pods are available", _number(item, "availableReplicas"), _wanted_replicas(item), item
    )


def _job(item: Object) -> Verdict:
    failed = condition(item, "Failed")
    if failed is not None and failed.get("status") == "True":
        return Verdict(False, f"it failed: {failed.get('message') or failed.get('reason')}", hopeless=True)
    done = condition(item, "Complete")
    if done is not None and done.get("status") == "True":
        return Verdict(True, "done")
    return Verdict(False, f"{_number(item, 'succeeded')} of {spec(item).get('completions', 1)} pods are done")


def _pod(item: Object) -> Verdict:
    phase = str(status(item).get("phase") or "Pending")
    if phase == "Failed":
        return Verdict(
            False, f"it failed: {status(item).get('message') or status(item).get('reason')}", hopeless=True
        )
    return Verdict(True, "done") if phase == "Succeeded" else has(item, "Ready")


def _phase(wanted: str) -> Callable[[Object], Verdict]:
    return lambda item: Verdict(status(item).get("phase") == wanted, str(status(item).get("phase") or "no phase yet"))


_RULES: dict[tuple[str, str], Callable[[Object], Verdict]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "Namespace"): _phase("Active"),
    ("", "PersistentVolumeClaim"): _phase("Bound"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _established,
    ("apiregistration.k8s.io", "APIService"): lambda item: has(item, "Available"),
}
