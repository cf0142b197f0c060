"""Waiting on a real API server; the tests play the controllers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from talosmith.kube import (
    Failed,
    KubeClient,
    Progress,
    Ref,
    condition_met,
    exists,
    gone,
    nodes_ready,
    ready,
    wait,
)
from tests.real.kube.patience import PATIENCE, not_in_time

TEMPLATE = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Always"},
}


def workload(kind: str, namespace: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}
    if kind != "DaemonSet":
        spec["replicas"] = 2
    if kind == "StatefulSet":
        spec["serviceName"] = "x"
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x", "namespace": namespace}, "spec": spec}


async def set_status(client: KubeClient, ref: Ref, status: dict[str, Any]) -> None:
    await client.patch(ref, {"status": status}, subresource="status")


@pytest.mark.parametrize(
    ("kind", "half", "whole"),
    [
        (
            "Deployment",
            {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1, "readyReplicas": 1},
            {"availableReplicas": 2, "readyReplicas": 2},
        ),
        ("StatefulSet", {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2}, {"readyReplicas": 2}),
        (
            "DaemonSet",
            {
                "desiredNumberScheduled": 2,
                "currentNumberScheduled": 2,
                "numberMisscheduled": 0,
                "numberReady": 1,
                "updatedNumberScheduled": 2,
                "numberAvailable": 1,
            },
            {"numberReady": 2, "numberAvailable": 2},
        ),
    ],
)
async def test_workloads(
    client: KubeClient, namespace: str, kind: str, half: dict[str, Any], whole: dict[str, Any]
) -> None:
    ref = Ref("apps/v1", kind, "x", namespace)
    told: list[Progress] = []
    async with asyncio.TaskGroup() as group:

        async def heard(start: str) -> None:
            async with asyncio.timeout(PATIENCE):
                while not any(progress.reason.startswith(start) for progress in told):
                    await asyncio.sleep(0.02)

        async def play_the_controller() -> None:
            await heard("not there")
            made = await client.create(workload(kind, namespace))
            await set_status(client, ref, {"observedGeneration": made["metadata"]["generation"], **half})
            await heard("1 of 2 pods are")
            await set_status(client, ref, whole)

        group.create_task(play_the_controller())
        await wait(client, [ready(ref)], timeout=PATIENCE, report=told.append)
    reasons = [progress.reason for progress in told]
    assert reasons[0] == "not there"
    assert any(reason.startswith("1 of 2 pods are") for reason in reasons)
    assert told[-1].ok


async def test_a_time_out_says_what_was_missing_and_why(client: KubeClient, namespace: str) -> None:
    made = await client.create(workload("Deployment", namespace))
    ref = Ref("apps/v1", "Deployment", "x", namespace)
    trouble = {"type": "Progressing", "status": "False", "reason": "Deadline", "message": "no image of that name"}
    generation = made["metadata"]["generation"]
    await set_status(client, ref, {"observedGeneration": generation, "conditions": [trouble]})
    said, _ = await not_in_time(client, [ready(ref), exists(Ref("v1", "Namespace", namespace))])
    assert f"Deployment {namespace}/x ready (0 of 2 pods are of the new kind (no image of that name))" in said
    assert "Namespace" not in said


async def test_a_job_that_failed_is_not_waited_for(client: KubeClient, namespace: str) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}}
    meta = {"name": "j", "namespace": namespace}
    await client.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}})
    ref = Ref("batch/v1", "Job", "j", namespace)
    moment = "2026-01-01T00:00:00Z"
    failed = {"status": "True", "reason": "BackoffLimitExceeded", "message": "it has failed too often"}
    conditions = [{"type": kind, **failed, "lastTransitionTime": moment} for kind in ("FailureTarget", "Failed")]
    await set_status(client, ref, {"startTime": moment, "failed": 1, "conditions": conditions})
    with pytest.raises(Failed, match="it has failed too often"):
        async with asyncio.timeout(PATIENCE):
            await wait(client, [ready(ref), exists(Ref("v1", "Namespace", "never"))], timeout=10 * PATIENCE)


async def test_any_condition_and_being_gone(client: KubeClient, unique: str) -> None:
    node = Ref("v1", "Node", unique)
    await client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": unique, "finalizers": ["example.org/held"]}}
    )
    await set_status(client, node, {"conditions": [{"type": "DiskPressure", "status": "False", "reason": "Enough"}]})
    await wait(client, [condition_met(node, "DiskPressure", "False")], timeout=PATIENCE)
    await client.delete(node)
    said, _ = await not_in_time(client, [gone(node)])
    assert "held by example.org/held" in said
    async with asyncio.TaskGroup() as group:
        group.create_task(client.patch(node, {"metadata": {"finalizers": None}}))
        await wait(client, [gone(node)], timeout=PATIENCE)


async def test_nodes_that_come_and_go_do_not_pass(
    client: KubeClient, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Ref("v1", "Node", unique)
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": unique}})
    told: list[Progress] = []

    async def set_ready(value: str) -> None:
        await set_status(client, node, {"conditions": [{"type": "Ready", "status": value, "reason": f"Is{value}"}]})

    await set_ready("True")
    gone_bad = asyncio.Event()
    list_all = client.list

    async def look(*of: Any, **how: Any) -> Any:
        """Once the node was ready, nobody looks before it is so no more."""
        if told:
            await gone_bad.wait()
        return await list_all(*of, **how)

    monkeypatch.setattr(client, "list", look)
    async with asyncio.TaskGroup() as group:

        async def flap() -> None:
            async with asyncio.timeout(PATIENCE):
                for value, heard in (("False", 1), ("True", 2)):
                    while len(told) < heard:
                        await asyncio.sleep(0.02)
                    await set_ready(value)
                    gone_bad.set()

        group.create_task(flap())
        await wait(client, nodes_ready([unique]), timeout=PATIENCE, report=told.append, in_a_row=3, between=0.05)
    assert [(progress.ok, progress.reason) for progress in told] == [
        (True, "IsTrue"),
        (False, "IsFalse"),
        (True, "IsTrue"),
    ]


async def test_many_are_waited_for_by_one_watch(client: KubeClient, unique: str) -> None:
    names = [f"{unique}-{number}" for number in range(30)]
    for name in names[1:]:
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        await set_status(client, Ref("v1", "Node", name), {"conditions": conditions})
    said, seconds = await not_in_time(client, nodes_ready(names))
    assert said.endswith(f"waited {seconds:g} s for Node {names[0]} ready (not there)")
    await wait(client, nodes_ready(names[1:]), timeout=PATIENCE, in_a_row=2, between=0.1)
