"""Kubernetes in real nodes: three control planes that become ready."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.real.talos.cluster import Cluster
from tests.real.talos.fixtures import MakeNodes
from tests.real.talos.lab import Lab, wait_until

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


@pytest.mark.slow
def test_three_nodes_become_ready(
    talos_lab: Lab, talos_nodes: MakeNodes, peer: Callable[[str], Path], tmp_path: Path
) -> None:
    kubectl = peer("kubectl")
    talos_lab.offer_kubernetes()
    nodes = talos_nodes(3)
    cluster = Cluster(talos_lab, tmp_path, tuple(nodes), kubernetes=True)
    cluster.generate()
    cluster.apply(*nodes)
    cluster.bootstrap()
    kubeconfig = tmp_path / "kubeconfig"
    cluster.surely("kubeconfig", "--force", kubeconfig, node=nodes[0])

    def listed(*what: str) -> list[dict[str, Any]]:
        command: list[str | Path] = [kubectl, "--kubeconfig", kubeconfig, "--request-timeout=60s", "get", *what]
        answer = subprocess.run([*command, "--output=json"], capture_output=True, text=True, check=False).stdout
        return list(json.loads(answer)["items"]) if answer else []

    def ready(kind: str) -> set[str]:
        return {
            item["metadata"]["name"]
            for item in listed(kind, "--all-namespaces")
            if _condition(item, "Ready").get("status") == "True"
        }

    def all_ready() -> bool:
        return ready("nodes") == {node.name for node in nodes} and ready("pods") >= {
            f"{component}-{node.name}" for component in COMPONENTS for node in nodes
        }

    wait_until(all_ready, 1200, lambda: f"{ready('nodes')} {ready('pods')}\n{nodes[0].console[-3000:]}", pause=3)


def _condition(item: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((one for one in item["status"].get("conditions", ()) if one["type"] == kind), {})
