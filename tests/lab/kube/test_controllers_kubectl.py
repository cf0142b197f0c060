"""The real kubectl and our own client against a lab in which controllers work: what people do first."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.kube import Ref, apply, drain, wait
from talosmith.kube.conditions import ready
from talosmith.kube.nodes import list_nodes
from tests.contract.worlds import eventually
from tests.lab.kube.kube_lab import KubeLab, running
from tests.lab.lab_worlds import Configs
from tests.loopback import free_network

SECONDS = 240.0  # costs nothing where all is well
pytestmark = pytest.mark.slow


class Kubectl:
    def __init__(self, binary: Path, kubeconfig: Path) -> None:
        self._binary = binary
        self._kubeconfig = kubeconfig

    async def __call__(self, *arguments: str) -> str:
        """What it says about something that must work."""
        process = await asyncio.create_subprocess_exec(
            str(self._binary),
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"KUBECONFIG": str(self._kubeconfig), "HOME": str(self._kubeconfig.parent)},
        )
        try:
            out, _ = await asyncio.wait_for(process.communicate(), SECONDS)
        except TimeoutError:
            process.kill()
            raise
        assert process.returncode == 0, f"kubectl {' '.join(arguments)}: {out.decode()}"
        return out.decode()


@pytest.fixture(scope="module")
def network() -> str:
    return free_network()


@pytest.fixture(scope="module")
def configs(network: str) -> Configs:
    return Configs(vip=str(ipaddress.ip_network(network)[5]))


async def _ready(lab: KubeLab, count: int) -> None:
    """All nodes are, and Talos' own workloads run."""
    async with lab.client() as client:
        # First the nodes: workloads are ready, too, on those that are there.
        await eventually(
            lambda: list_nodes(client), lambda nodes: [node.ready for node in nodes.values()] == [True] * count
        )
        awaited = [ready(Ref("apps/v1", "Deployment", "coredns", "kube-system"))]
        awaited += [
            ready(Ref("apps/v1", "DaemonSet", name, "kube-system")) for name in ("kube-proxy", "kube-flannel")
        ]
        await wait(client, awaited, timeout=SECONDS)


async def test_the_first_ten_minutes_with_kubectl(
    tmp_path: Path, network: str, configs: Configs, peer: Callable[[str], Path]
) -> None:
    async with running(tmp_path, configs, network, "cp-1", "w-1", "w-2", clock="fast") as lab:
        await _ready(lab, 3)
        (tmp_path / "kubeconfig").write_text(lab.kubeconfig())
        kubectl = Kubectl(peer("kubectl"), tmp_path / "kubeconfig")
        await kubectl("create", "namespace", "team")
        await kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=3", "-n", "team")
        assert "successfully rolled out" in await kubectl("rollout", "status", "deploy/web", "-n", "team")
        await kubectl("scale", "deploy/web", "--replicas=5", "-n", "team")
        assert "successfully rolled out" in await kubectl("rollout", "status", "deploy/web", "-n", "team")
        await kubectl("set", "image", "deploy/web", "nginx=nginx:2", "-n", "team")
        assert "successfully rolled out" in await kubectl("rollout", "status", "deploy/web", "-n", "team")
        await kubectl("rollout", "undo", "deploy/web", "-n", "team")
        await kubectl("rollout", "status", "deploy/web", "-n", "team")
        images = "jsonpath={.items[*].spec.containers[0].image}"
        running_pods = ("get", "pods", "-n", "team", "--field-selector=status.phase=Running", "-o", images)
        # Those of before may still be ending.
        await eventually(lambda: kubectl(*running_pods), lambda listed: listed.split() == ["nginx:1"] * 5)
        described = await kubectl("describe", "deploy/web", "-n", "team")
        assert "Scaled up replica set" in described
        assert "MinimumReplicasAvailable" in described
        await kubectl("create", "job", "once", "--image=busybox", "-n", "team", "--", "echo", "hello")
        await kubectl("wait", "--for=condition=complete", "job/once", "-n", "team", f"--timeout={SECONDS:g}s")
        assert await kubectl("logs", "job/once", "-n", "team") == "hello\n"
        assert "SuccessfulCreate" in await kubectl("get", "events", "-n", "team")
        await kubectl("delete", "namespace", "team", f"--timeout={SECONDS:g}s")
        assert "team" not in await kubectl("get", "namespaces")


async def test_a_drain_moves_pods_within_their_budget(tmp_path: Path, network: str, configs: Configs) -> None:
    async with running(tmp_path, configs, network, "cp-1", "w-1", "w-2", clock="fast") as lab:
        await _ready(lab, 3)
        labels = {"app": "web"}
        container = {"name": "main", "image": "nginx"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": 4, "selector": {"matchLabels": labels}, "template": template}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
        rule = {"minAvailable": 3, "selector": {"matchLabels": labels}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": rule}
        async with lab.client() as client:
            await apply(client, [deployment, budget], namespace="default")
            await wait(client, [ready(Ref("apps/v1", "Deployment", "web", "default"))], timeout=SECONDS)
            done = await drain(client, "w-1", timeout=SECONDS, between=0.1)
            assert len([pod for pod in done.evicted if pod.ref.namespace == "default"]) == 2
            await wait(client, [ready(Ref("apps/v1", "Deployment", "web", "default"))], timeout=SECONDS)
            pods = (await client.list("v1", "Pod", namespace="default")).items
            assert {pod["spec"]["nodeName"] for pod in pods} == {"w-2"}
