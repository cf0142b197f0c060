"""A node that leaves while its pods may not: that is told before anything is moved, and waited for."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from talosmith.kube import KubeClient, Ref
from tests.contract.worlds import eventually
from tests.lab.up.outcomes import one_etcd
from tests.lab.up.places import Here, in_vain

pytestmark = pytest.mark.slow

LABELS = {"app": "web"}
WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}},
    },
}
BARE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "debug", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "web:1"}]},
}
BUDGET: dict[str, Any] = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"minAvailable": 2, "selector": {"matchLabels": LABELS}},
}


async def test_a_budget_that_lets_nobody_go(here: Here) -> None:
    here.write(1, 2)
    assert here.up().code == 0
    async with KubeClient.from_bundle(here.kit.bundle, [here.machines()["cp-1"]["address"]]) as kube:
        for item in (WEB, BUDGET):
            await kube.create(item)
        await kube.create(BARE)
        node = await on_which_node(kube)
        await a_plan_shows_the_pods(here, kube, node)
        limited = partial(here.destroy, "--node", node, "--limit", "100", before=in_vain("allows 0 disruptions"))
        refused = await asyncio.to_thread(limited)
        assert refused.code == 1
        for said in (
            "waiting for pods that must not be evicted",
            "default/web-",
            "the budget default/web allows 0 disruptions",
            "fix: free capacity on other nodes",
        ):
            assert said in refused.said, refused.said
        assert "unschedulable" not in (await kube.get(Ref("v1", "Node", node))).get("spec", {})
        await kube.delete(Ref.of(BUDGET))
        gone = await asyncio.to_thread(lambda: here.destroy("--node", node))
        assert gone.code == 0, gone.said
        assert node not in here.machines()
        await eventually(lambda: places(kube), lambda found: len(found) == 2 and node not in found)
    one_etcd(here, ["cp-1"])


async def a_plan_shows_the_pods(here: Here, kube: KubeClient, node: str) -> None:
    """A reboot of a worker: how many pods stop, which budget allows no disruption, which pod has no controller."""
    await eventually(lambda: kube.get(Ref.of(BARE)), lambda pod: bool(pod["spec"].get("nodeName")))
    bare = (await kube.get(Ref.of(BARE)))["spec"]["nodeName"]
    patch = here.folder / "patches" / "worker" / "env.yaml"
    patch.parent.mkdir(parents=True)
    patch.write_text("machine: {env: {A: b}}\n")
    found = await asyncio.to_thread(here.plan)
    (step,) = (step for step in found["steps"] if step["subject"] == node)
    pods = (await kube.list("v1", "Pod", fields=f"spec.nodeName={node}")).items
    owners = [owner["kind"] for pod in pods for owner in pod["metadata"].get("ownerReferences", [{"kind": ""}])]
    running = len(owners) - owners.count("DaemonSet") - owners.count("Node")
    assert running >= (await places(kube)).count(node) > 0
    assert step["disruption"] == "reboot"
    assert step["evictions"]["pods"] == running
    assert step["evictions"]["blocking"] == ["default/web"]
    seen = {name: one["evictions"]["bare"] for one in found["steps"] if (name := one["subject"])}
    assert seen[bare] == ["default/debug"]
    assert [names for name, names in seen.items() if name != bare] == [[]]
    text = await asyncio.to_thread(lambda: here.run("plan").out)
    assert f"pods: {running} stop until the node is back" in text
    assert "PodDisruptionBudget default/web" in text
    patch.unlink()


async def on_which_node(kube: KubeClient) -> str:
    """Where one of its pods runs, once all run and the budget counts them."""
    await eventually(
        lambda: kube.get(Ref.of(BUDGET)), lambda budget: budget.get("status", {}).get("currentHealthy") == 2
    )
    return (await places(kube))[0]


async def places(kube: KubeClient) -> list[str]:
    """The nodes of pods that stay; nothing for one that has none yet."""
    listed = await kube.list("v1", "Pod", "default", labels="app=web")
    return [pod["spec"].get("nodeName", "") for pod in listed.items if "deletionTimestamp" not in pod["metadata"]]
