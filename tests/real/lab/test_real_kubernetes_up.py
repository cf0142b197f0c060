"""From an inventory that asks for a real Kubernetes to a healthy cluster and back to nothing, by the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.loopback import free_network

INVENTORY = """\
cluster_name: real
talos_version: v1.14.1
kubernetes_version: v1.37.1
lab: {{kubernetes: real}}
network: {{node_cidr: {network}}}
controlplane: 1
workers: 1
"""


def test_up_ends_healthy_and_destroy_leaves_nothing(peer: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(INVENTORY.format(network=free_network()))
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "KUBEBUILDER_ASSETS": str(peer("kube-apiserver").parent),
        "PATH": f"{peer('etcd').parent}{os.pathsep}{os.environ['PATH']}",
    }

    def talosmith(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "talosmith", *arguments],
            capture_output=True,
            text=True,
            timeout=900,
            env=environment,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def kubectl(kubeconfig: str, *arguments: str) -> Any:
        command = [peer("kubectl"), "--kubeconfig", tmp_path / kubeconfig, *arguments, "-o", "json"]
        return json.loads(subprocess.run(command, capture_output=True, timeout=300, check=True).stdout)

    talosmith("secrets", "init")
    try:
        talosmith("up", "--yes")
        nodes = kubectl("kubeconfig", "get", "nodes")
        assert {one["status"]["nodeInfo"]["kubeletVersion"] for one in nodes["items"]} == {"v1.37.1"}
        talosmith("kubeconfig", "--user", "ann", "--group", "viewers", "--lifetime", "8h", "--out", "ann.yaml")
        ann = kubectl("ann.yaml", "auth", "whoami")["status"]["userInfo"]
        assert (ann["username"], ann["groups"]) == ("ann", ["viewers", "system:authenticated"])
        talosmith("health")
    finally:
        talosmith("destroy", "--confirm", "real")
    end = time.monotonic() + 60
    while str(tmp_path) in (listed := _processes()):  # a lab that had to be killed takes them with it, a moment later
        assert time.monotonic() < end, listed
        time.sleep(0.2)
    assert list((tmp_path / "state/talosmith/labs").iterdir()) == []


def _processes() -> str:
    return subprocess.run(["ps", "-ww", "-eo", "args="], capture_output=True, text=True, check=True).stdout
