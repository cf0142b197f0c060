"""When an object counts as ready, and the reason why it does not."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.kube import Ref, Verdict, condition_met, gone, ready
from talosmith.kube.objects import selects


def judged(api_version: str, kind: str, status: dict[str, Any], spec: dict[str, Any] | None = None) -> Verdict:
    ref = Ref(api_version, kind, "x", "n")
    return ready(ref).judge({"metadata": {"generation": 2}, "spec": spec or {}, "status": status})


SEEN = {"observedGeneration": 2}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "ok", "reason"),
    [
        ("Deployment", {"replicas": 2}, {"observedGeneration": 1}, False, "the last change has not been seen yet"),
        ("Deployment", {"replicas": 2}, {**SEEN, "updatedReplicas": 1}, False, "1 of 2 pods are of the new kind"),
        (
            "Deployment",
            {"replicas": 2},
            {**SEEN, "updatedReplicas": 2, "replicas": 3, "availableReplicas": 3},
            False,
            "1 old pods are still there",
        ),
        ("Deployment", {"replicas": 0}, SEEN, True, "0 of 0 pods are available"),
        (
            "DaemonSet",
            {},
            {**SEEN, "desiredNumberScheduled": 3, "numberAvailable": 3},
            False,
            "0 of 3 pods are of the new",
        ),
        (
            "DaemonSet",
            {"updateStrategy": {"type": "OnDelete"}},
            {**SEEN, "desiredNumberScheduled": 3, "numberAvailable": 3},
            True,
            "3 of 3 pods are available",
        ),
        (
            "StatefulSet",
            {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
            {**SEEN, "readyReplicas": 3, "updatedReplicas": 1},
            True,
            "1 of 1 pods are of the new kind",
        ),
        (
            "StatefulSet",
            {"replicas": 3},
            {**SEEN, "readyReplicas": 3, "updatedReplicas": 1},
            False,
            "1 of 3 pods are of",
        ),
        ("ReplicaSet", {}, SEEN, False, "0 of 1 pods are available"),
    ],
)
def test_workloads(kind: str, spec: dict[str, Any], status: dict[str, Any], ok: bool, reason: str) -> None:
    verdict = judged("apps/v1", kind, status, spec)
    assert verdict.ok is ok
    assert verdict.reason.startswith(reason)


def condition(kind: str, status: str, **other: Any) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, **other}]}


def test_what_has_failed_for_good_is_hopeless() -> None:
    assert judged("batch/v1", "Job", condition("Failed", "True", message="no")).hopeless
    assert judged("v1", "Pod", {"phase": "Failed", "message": "evicted"}).hopeless
    assert not judged("batch/v1", "Job", {}, {"completions": 3}).hopeless
    assert judged("batch/v1", "Job", {"succeeded": 1}, {"completions": 3}).reason == "1 of 3 pods are done"
    assert judged("batch/v1", "Job", condition("Complete", "True")).ok
    assert judged("v1", "Pod", {"phase": "Succeeded"}).ok


def test_a_definition_whose_names_are_taken() -> None:
    status = condition("NamesAccepted", "False", message="widgets is taken")
    verdict = judged("apiextensions.k8s.io/v1", "CustomResourceDefinition", status)
    assert verdict == Verdict(False, "its names are taken: widgets is taken")


def test_conditions_of_an_older_spec_do_not_count() -> None:
    old = judged("x.example.org/v1", "Widget", condition("Ready", "True", observedGeneration=1))
    assert old == Verdict(False, "the last change has not been seen yet")
    assert judged("x.example.org/v1", "Widget", condition("Ready", "True", observedGeneration=2)).ok


def test_absence() -> None:
    ref = Ref("v1", "Node", "x")
    assert not ready(ref).judge(None).ok
    assert gone(ref).judge(None).ok
    assert condition_met(ref, "DiskPressure", "False").name == "Node x DiskPressure=False"


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "1", "b": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "In", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, True),
    ],
)
def test_selectors(selector: dict[str, Any] | None, matches: bool) -> None:
    assert selects(selector, {"a": "1"}) is matches
