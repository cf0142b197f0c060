"""Draining nodes of a real API server; the pods are bound to nodes that are not there, and the tests play kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from talosmith.kube import (
    Event,
    KubeClient,
    NotFound,
    Progress,
    Ref,
    drain,
    draining,
    find_node,
    follow,
    simulate_drain,
    uncordon,
)
from talosmith.kube.draining import evict
from talosmith.kube.objects import metadata, uid
from talosmith.kube.pods import pods_on
from talosmith.waiting import limited
from tests.real.kube.patience import PATIENCE, not_drained


async def make_node(client: KubeClient, name: str) -> None:
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})


async def make_pod(
    client: KubeClient, namespace: str, node: str, name: str, *, ready: bool = True, **extra: Any
) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "labels": {"app": name.partition("-")[0]}, **extra}
    spec = {
        "nodeName": node,
        "containers": [{"name": "c", "image": "x"}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 77,
    }
    made = await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    await client.patch(Ref.of(made), {"status": status}, subresource="status")
    return dict(made)


async def make_budget(client: KubeClient, namespace: str, app: str, allowed: int) -> Ref:
    """With a status as the disruption controller would write it."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
    made = await client.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": app, "namespace": namespace},
            "spec": spec,
        }
    )
    ref = Ref.of(made)
    await allow(client, ref, allowed)
    return ref


async def allow(client: KubeClient, budget: Ref, allowed: int) -> None:
    generation = metadata(await client.get(budget))["generation"]
    status = {
        "observedGeneration": generation,
        "disruptionsAllowed": allowed,
        "currentHealthy": 1 + allowed,
        "desiredHealthy": 1,
        "expectedPods": 2,
    }
    await client.patch(budget, {"status": status}, subresource="status")


def owned_by(kind: str, name: str, owner: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": owner, "controller": True}]


@asynccontextmanager
async def kubelet(client: KubeClient, node: str) -> AsyncIterator[dict[str, int]]:
    """Ends pods that are being deleted; yields the grace period that each was given."""
    graces: dict[str, int] = {}

    async def run() -> None:
        async for change in follow(client, "v1", "Pod", fields=f"spec.nodeName={node}"):
            if isinstance(change, Event) and change.kind == "DELETED":
                continue
            for pod in [change.item] if isinstance(change, Event) else change.items:
                if metadata(pod).get("deletionTimestamp"):
                    graces.setdefault(metadata(pod)["name"], metadata(pod)["deletionGracePeriodSeconds"])
                    await client.delete(Ref.of(pod), uid=uid(pod), grace=0)

    async with asyncio.TaskGroup() as group:
        caring = group.create_task(run())
        yield graces
        caring.cancel()


async def test_a_node_is_emptied_of_what_has_to_go(client: KubeClient, namespace: str, unique: str) -> None:
    await make_node(client, unique)
    daemon_set = await client.create(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "agent", "namespace": namespace},
            "spec": {
                "selector": {"matchLabels": {"app": "agent"}},
                "template": {
                    "metadata": {"labels": {"app": "agent"}},
                    "spec": {"containers": [{"name": "c", "image": "x"}]},
                },
            },
        }
    )
    await make_pod(client, namespace, unique, "lonely")
    await make_pod(
        client, namespace, unique, "agent-1", ownerReferences=owned_by("DaemonSet", "agent", uid(daemon_set))
    )
    gone = "00000000-0000-0000-0000-000000000001"
    await make_pod(client, namespace, unique, "orphan", ownerReferences=owned_by("DaemonSet", "no-more", gone))
    await make_pod(client, namespace, unique, "web-1", ownerReferences=owned_by("ReplicaSet", "web", gone))
    static = {"kubernetes.io/config.mirror": "hash", "kubernetes.io/config.source": "file"}
    node_uid = uid(await client.get(Ref("v1", "Node", unique)))
    owner = [{"apiVersion": "v1", "kind": "Node", "name": unique, "uid": node_uid, "controller": True}]
    meta = {"name": "static", "namespace": namespace, "annotations": static, "ownerReferences": owner}
    spec = {"nodeName": unique, "containers": [{"name": "c", "image": "x"}], "tolerations": [{"operator": "Exists"}]}
    await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    await make_pod(client, namespace, f"{unique}-other", "elsewhere")

    forecast = await simulate_drain(client, unique)
    assert forecast.passes
    assert [pod.ref.name for pod in forecast.evicted] == ["lonely", "orphan", "web-1"]
    assert {pod.ref.name for pod in forecast.stay} == {"agent-1", "static"}
    node = await find_node(client, unique)
    assert node is not None
    assert not node.cordoned_by

    told: list[Progress] = []
    async with kubelet(client, unique) as graces:
        drained = await drain(client, unique, timeout=PATIENCE, between=0.2, report=told.append)
    assert {pod.ref.name for pod in drained.evicted} == {"lonely", "orphan", "web-1"}
    assert graces == {"lonely": 77, "orphan": 77, "web-1": 77}
    left = await client.list("v1", "Pod", namespace)
    assert {item["metadata"]["name"] for item in left.items} == {"agent-1", "static", "elsewhere"}
    node = await find_node(client, unique)
    assert node is not None
    assert node.cordoned_by == "talosmith"
    assert await uncordon(client, unique)
    node = await find_node(client, unique)
    assert node is not None
    assert not node.cordoned_by


async def test_what_blocks_is_known_before_the_cordon(client: KubeClient, namespace: str, unique: str) -> None:
    await make_node(client, unique)
    await make_pod(client, namespace, unique, "db-1")
    await make_pod(client, namespace, unique, "db-2")
    await make_pod(client, namespace, unique, "free")
    budget = await make_budget(client, namespace, "db", allowed=0)
    forecast = await simulate_drain(client, unique)
    assert [blocked.pod.ref.name for blocked in forecast.blocked] == ["db-1", "db-2"]
    assert f"the budget {namespace}/db allows 0 disruptions now" in forecast.blocked[0].why
    assert "disruption budget" in forecast.blocked[0].why
    await allow(client, budget, 1)
    forecast = await simulate_drain(client, unique)
    assert forecast.passes
    assert [(one.ref.name, len(one.pods), one.allowed) for one in forecast.in_turn] == [("db", 2, 1)]
    # A simulation uses nothing up, and touches nothing.
    assert (await client.get(budget))["status"]["disruptionsAllowed"] == 1
    assert len((await client.list("v1", "Pod", namespace)).items) == 3
    node = await find_node(client, unique)
    assert node is not None
    assert not node.cordoned_by


async def test_a_budget_is_waited_for(client: KubeClient, namespace: str, unique: str) -> None:
    await make_node(client, unique)
    await make_pod(client, namespace, unique, "db-1")
    budget = await make_budget(client, namespace, "db", allowed=0)
    told: list[Progress] = []
    async with kubelet(client, unique), asyncio.TaskGroup() as group:

        async def make_room() -> None:
            while not told:
                await asyncio.sleep(0.05)
            await allow(client, budget, 1)

        group.create_task(make_room())
        drained = await drain(client, unique, timeout=PATIENCE, between=0.2, report=told.append)
    assert [pod.ref.name for pod in drained.evicted] == ["db-1"]
    assert "disruption budget" in told[0].reason
    assert [progress.ok for progress in told] == [False, True]
    assert (await client.get(budget))["status"]["disruptionsAllowed"] == 0


async def test_a_time_out_names_the_pods_and_what_blocks_them(
    client: KubeClient, namespace: str, unique: str
) -> None:
    await make_node(client, unique)
    await make_pod(client, namespace, unique, "db-1")
    await make_pod(client, namespace, unique, "stuck")  # no kubelet: it never ends
    await make_budget(client, namespace, "db", allowed=0)
    wrong = await not_drained(client, unique, enough=lambda wrong: True)
    blocked = {one.pod.ref.name: one.why for one in wrong.blocked}
    assert "allows 0 disruptions now (1 pods are healthy, 1 have to be)" in blocked["db-1"]
    assert "being deleted" in blocked["stuck"]
    assert unique in str(wrong)
    assert "db-1" in str(wrong)
    node = await find_node(client, unique)
    assert node is not None
    assert node.cordoned_by == "talosmith"


async def test_two_budgets_for_one_pod_are_named(client: KubeClient, namespace: str, unique: str) -> None:
    await make_node(client, unique)
    await make_pod(client, namespace, unique, "db-1")
    await make_budget(client, namespace, "db", allowed=1)
    second = {"minAvailable": 0, "selector": {"matchLabels": {"app": "db"}}}
    meta = {"name": "second", "namespace": namespace}
    await client.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": second})
    forecast = await simulate_drain(client, unique)
    assert "more than one PodDisruptionBudget" in forecast.blocked[0].why
    assert f"{namespace}/second" in forecast.blocked[0].why


@pytest.fixture
def deadlines(monkeypatch: pytest.MonkeyPatch) -> list[limited]:
    """Those that are set from now on, in their order; one that is ended has come."""
    found: list[limited] = []

    def noted(seconds: float) -> limited:
        found.append(limited(seconds))
        return found[-1]

    monkeypatch.setattr(draining, "limited", noted)
    return found


async def test_deletion_is_a_second_attempt_that_is_asked_for(
    client: KubeClient, namespace: str, unique: str, deadlines: list[limited]
) -> None:
    await make_node(client, unique)
    await make_pod(client, namespace, unique, "db-1")
    await make_budget(client, namespace, "db", allowed=0)
    told: list[Progress] = []

    def report(progress: Progress) -> None:
        told.append(progress)
        if not progress.ok:
            deadlines[0].end()  # the time is up as soon as the budget has refused

    async with kubelet(client, unique):
        drained = await drain(client, unique, timeout=PATIENCE, between=0.2, report=report, delete_if_blocked=True)
    assert [progress.ok for progress in told] == [False, True]
    assert [pod.ref.name for pod in drained.deleted] == ["db-1"]
    assert drained.evicted == ()


async def test_nodes_that_are_not_there(client: KubeClient, unique: str) -> None:
    assert not await uncordon(client, unique)
    with pytest.raises(NotFound):
        await drain(client, unique)


async def test_a_new_pod_of_the_same_name_is_not_hit(client: KubeClient, namespace: str, unique: str) -> None:
    await make_node(client, unique)
    await make_pod(client, namespace, unique, "web-1")
    [old] = await pods_on(client, unique)
    await client.delete(old.ref, grace=0)
    await make_pod(client, namespace, unique, "web-1")
    assert await evict(client, old) == ""
    [new] = await pods_on(client, unique)
    assert new.uid != old.uid
    assert not new.leaving
