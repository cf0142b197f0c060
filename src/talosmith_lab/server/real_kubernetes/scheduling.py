"""Which node a pod goes to, in labs without a kube-scheduler: the least busy that takes it. Sizes do not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from talosmith_lab.kube.controllers import fitting
from talosmith_lab.kube.controllers.node_objects import PODS
from talosmith_lab.kube.controllers.objects import controller_of, going, has, is_active
from talosmith_lab.kube.kinds import Obj

_SCHEDULER = "default-scheduler"


def is_ours(pod: Obj) -> bool:
    spec = pod["spec"]
    waits = bool(spec.get("nodeName")) or bool(spec.get("schedulingGates")) or going(pod)
    return not waits and spec.get("schedulerName", _SCHEDULER) == _SCHEDULER


def choose(pod: Obj, nodes: Iterable[Obj], pods: Iterable[Obj]) -> str:
    """Empty if there is none at present, or if it is not for us to say."""
    if not is_ours(pod):
        return ""
    there: dict[str, list[Obj]] = {}
    for one in pods:
        if is_active(one) and one["spec"].get("nodeName"):
            there.setdefault(one["spec"]["nodeName"], []).append(one)
    owner = (controller_of(pod) or {}).get("uid")
    same = Counter(
        name
        for name, some in there.items()
        for one in some
        if owner and (controller_of(one) or {}).get("uid") == owner
    )
    terms = ((pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}).get(fitting.REQUIRED) or ()
    free = [
        node["metadata"]["name"]
        for node in nodes
        if has(node, "Ready")
        and not fitting.why_not(pod["spec"], node)
        and len(there.get(node["metadata"]["name"], ())) < PODS
        and not _kept_apart(pod, terms, there.get(node["metadata"]["name"], ()))
    ]
    return min(free, key=lambda name: (same[name], len(there.get(name, ())), name), default="")


def _kept_apart(pod: Obj, terms: Iterable[Obj], others: Iterable[Obj]) -> bool:
    return any(fitting.keeps_apart(pod, term, other) for term in terms for other in others)
