"""Whether a pod may go to a node, by what the two say of each other."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.selectors import Requirement, selects

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": ">", "Lt": "<"}
_ELSEWHERE = "node(s) didn't match Pod's node affinity/selector"


def why_not(spec: Obj, node: Obj, *, scheduled: bool = True) -> str:
    """In the scheduler's words; empty: it fits. Not `scheduled`: only what also drives pods away counts."""
    if (
        scheduled
        and node["spec"].get("unschedulable")
        and not tolerates(spec, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    ):
        return "node(s) were unschedulable"
    effects = ("NoSchedule", "NoExecute") if scheduled else ("NoExecute",)
    for taint in node["spec"].get("taints") or ():
        if taint["effect"] in effects and not tolerates(spec, taint):
            return "node(s) had untolerated taint(s)"
    return "" if selected(spec, node) else _ELSEWHERE


def selected(spec: Obj, node: Obj) -> bool:
    """By selector and required affinity."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    if affinity is None:
        return True
    return any(_term(term, node, labels) for term in affinity.get("nodeSelectorTerms") or ())


def _term(term: Obj, node: Obj, labels: Obj) -> bool:
    fields = {"metadata.name": node["metadata"]["name"]}
    expressions, others = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not others:
        return False
    return _holds(expressions, labels) and _holds(others, fields)


def _holds(expressions: Iterable[Obj], values: Obj) -> bool:
    return all(
        Requirement(one["key"], _OPERATORS[one["operator"]], tuple(one.get("values") or ())).holds(values)
        for one in expressions
    )


def tolerates(spec: Obj, taint: Obj) -> bool:
    return any(_tolerated(one, taint) for one in spec.get("tolerations") or ())


def _tolerated(toleration: Obj, taint: Obj) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    key = toleration.get("key")
    if toleration.get("operator", "Equal") == "Exists":
        return not key or key == taint["key"]
    return key == taint["key"] and (toleration.get("value") or "") == (taint.get("value") or "")


def keeps_apart(pod: Obj, term: Obj, other: Obj) -> bool:
    """Whether a term of anti-affinity forbids the two on one node."""
    if term.get("topologyKey") != "kubernetes.io/hostname":
        return False
    spaces = term.get("namespaces") or [pod["metadata"]["namespace"]]
    return other["metadata"]["namespace"] in spaces and selects(
        term.get("labelSelector"), other["metadata"].get("labels") or {}
    )
