"""Evictions, which disruption budgets may refuse.

A budget's status is written by the disruption controller. The real API server of these tests has none, so the test
writes what it would; where there is one, it finds the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.kube.kube_world import STRATEGIC_PATCH, Answer, KubeWorld, Obj, pod, until

pytestmark = pytest.mark.slow

REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


def running(world: KubeWorld, pods: str, name: str, *, ready: bool = True) -> None:
    """A pod that runs on a node nobody knows."""
    bound = pod(name, labels={"app": name.partition("-")[0]})
    bound["spec"]["nodeName"] = "nowhere"
    bound["spec"]["tolerations"] = [{"operator": "Exists"}]
    world.create(pods, bound).ok()
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    world.patch(f"{pods}/{name}/status", {"status": status}, STRATEGIC_PATCH).ok()


def budget(world: KubeWorld, space: str, app: str, healthy: int, pods: int, needed: int = 1, name: str = "") -> str:
    """One for the pods of this app, of which so many are healthy; the path."""
    budgets = f"/apis/policy/v1/namespaces/{space}/poddisruptionbudgets"
    name = name or app
    made = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": needed, "selector": {"matchLabels": {"app": app}}},
    }
    world.create(budgets, made).ok()
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": max(0, healthy - needed),
        "currentHealthy": healthy,
        "desiredHealthy": needed,
        "expectedPods": pods,
    }
    path = f"{budgets}/{name}"
    world.patch(f"{path}/status", {"status": status}).ok()
    until(lambda: world.get(path).ok()["status"], lambda found: status.items() <= found.items())
    return path


def evict(world: KubeWorld, pods: str, name: str, **options: Any) -> Answer:
    body: Obj = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    if options:
        body["deleteOptions"] = options
    return world.create(f"{pods}/{name}/eviction", body)


def test_a_pod_without_a_budget_is_evicted(world: KubeWorld, pods: str) -> None:
    running(world, pods, "web-1")
    answer = evict(world, pods, "web-1")
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    assert (answer.code, answer.body) == (201, status)
    found = world.get(f"{pods}/web-1").ok()
    assert found["metadata"]["deletionGracePeriodSeconds"] == 30
    told = next(one for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget")
    assert (told["status"], told["reason"]) == ("True", "EvictionByEvictionAPI")
    assert told["message"] == "Eviction API: evicting"


def test_a_budget_refuses_with_its_name(world: KubeWorld, pods: str, space: str) -> None:
    running(world, pods, "db-1")
    budget(world, space, "db", healthy=1, pods=1)
    told = "The disruption budget db needs 1 healthy pods and has 1 currently"
    refused = (429, "TooManyRequests", REFUSED, {"causes": [{"reason": "DisruptionBudget", "message": told}]})
    assert evict(world, pods, "db-1").refusal == refused
    assert evict(world, pods, "db-1", dryRun=["All"]).refusal == refused
    assert "deletionTimestamp" not in world.get(f"{pods}/db-1").ok()["metadata"]


def test_a_trial_uses_nothing_up(world: KubeWorld, pods: str, space: str) -> None:
    running(world, pods, "db-1")
    running(world, pods, "db-2")
    path = budget(world, space, "db", healthy=2, pods=2)
    assert evict(world, pods, "db-1", dryRun=["All"]).code == 201
    assert world.get(path).ok()["status"]["disruptionsAllowed"] == 1
    assert "deletionTimestamp" not in world.get(f"{pods}/db-1").ok()["metadata"]


def test_an_eviction_uses_the_budget_up(world: KubeWorld, pods: str, space: str) -> None:
    running(world, pods, "db-1")
    running(world, pods, "db-2")
    path = budget(world, space, "db", healthy=2, pods=2)
    assert evict(world, pods, "db-1").code == 201
    status = world.get(path).ok()["status"]
    assert status["disruptionsAllowed"] == 0
    assert evict(world, pods, "db-2").why == (429, "TooManyRequests", REFUSED)


def test_two_budgets_are_one_too_many(world: KubeWorld, pods: str, space: str) -> None:
    running(world, pods, "db-1")
    running(world, pods, "db-2")
    budget(world, space, "db", healthy=2, pods=2)
    budget(world, space, "db", healthy=2, pods=2, name="again")
    message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    assert evict(world, pods, "db-1").why == (500, "", message)


def test_a_pod_that_is_not_ready_may_go_while_enough_are(world: KubeWorld, pods: str, space: str) -> None:
    running(world, pods, "db-1")
    running(world, pods, "db-2", ready=False)
    path = budget(world, space, "db", healthy=1, pods=2)
    assert evict(world, pods, "db-2").code == 201
    assert world.get(path).ok()["status"]["disruptionsAllowed"] == 0


def test_a_pod_that_is_not_ready_stays_while_too_few_are(world: KubeWorld, pods: str, space: str) -> None:
    running(world, pods, "db-1", ready=False)
    budget(world, space, "db", healthy=0, pods=1)
    told = "The disruption budget db needs 1 healthy pods and has 0 currently"
    _, _, _, details = evict(world, pods, "db-1").refusal
    assert details["causes"] == [{"reason": "DisruptionBudget", "message": told}]


def test_a_pod_that_does_not_run_yet_is_free(world: KubeWorld, pods: str, space: str) -> None:
    running(world, pods, "db-1")
    world.create(pods, pod("db-2", labels={"app": "db"})).ok()
    budget(world, space, "db", healthy=1, pods=2)
    assert evict(world, pods, "db-2").code == 201
    assert world.get(f"{pods}/db-2").code == 404


def test_evictions_of_nobody_and_of_another(world: KubeWorld, pods: str) -> None:
    assert evict(world, pods, "none").why == (404, "NotFound", 'pods "none" not found')
    running(world, pods, "web-1")
    other = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web-2"}}
    message = "name in URL does not match name in Eviction object"
    assert world.create(f"{pods}/web-1/eviction", other).why == (400, "BadRequest", message)
    code, reason, message = evict(world, pods, "web-1", preconditions={"uid": "x"}).why
    assert (code, reason) == (409, "Conflict")
    assert "the UID in the precondition (x) does not match the UID in record" in message
    assert evict(world, pods, "web-1", gracePeriodSeconds=0).code == 201
    assert world.get(f"{pods}/web-1").code == 404
