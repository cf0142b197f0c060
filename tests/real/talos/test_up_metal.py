"""`talosmith up` on real machines: three of them from maintenance mode to a cluster, killed on the way.

They run the newest Talos and its Kubernetes; one machine with the Talos before is brought up, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from tests.real.talos import machine_config
from tests.real.talos.balancer import balancer
from tests.real.talos.cluster import patiently, talosctl
from tests.real.talos.fixtures import MakeNodes
from tests.real.talos.lab import Lab, Node, wait_until
from tests.real.talos.releases import BEFORE, NEWEST

T = TypeVar("T")
LIMIT = 1800
CALM = 900
# An add-on of our own: pods of the one image that every node has.
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: idle\nversion: 1.0.0\n",
    "values.yaml": "replicas: 2\n",
    "templates/idle.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: idle}}
  template:
    metadata: {labels: {app: idle}}
    spec:
      tolerations: [{operator: Exists}]
      containers:
      - {name: idle, image: "registry.k8s.io/pause:3.10.2", resources: {requests: {cpu: 0.01, memory: 1024Ki}}}
""",
}


class Person:
    """Somebody with an inventory and a shell."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.endpoint = endpoint
        self.inventory = folder / "inventory"
        self.inventory.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "talosmith", *command, "-i", str(self.inventory)],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def talosmith(self, *command: str) -> tuple[int, str]:
        process = self.start(*command)
        output, _ = process.communicate(timeout=LIMIT)
        return process.returncode, output

    def write(self, lab: Lab, nodes: list[Node], **more: Any) -> None:
        release = nodes[0].release
        cluster = {
            "cluster_name": "real",
            "talos_version": release.talos,
            "kubernetes_version": release.kubernetes,
            "metal": {},
            "network": {"endpoint": self.endpoint},
            "controlplane": [
                {"name": node.name, "ip": node.address, "fingerprint": node.fingerprint, "disk": "/dev/sda"}
                for node in nodes
            ],
            "workers": 0,
            "addons": {"idle": {"chart": "./charts/idle"}},
            **more,
        }
        for name, text in CHART.items():
            path = self.inventory / "charts" / "idle" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.inventory / "cluster.yaml").write_text(yaml.safe_dump(cluster))
        for place, patches in (
            ("global", machine_config.patches(lab, release, kubernetes=True)),
            ("controlplane", machine_config.controlplane_patches(lab, release)),
        ):
            folder = self.inventory / "patches" / place
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "real.yaml").write_text(yaml.safe_dump_all(patches))


@pytest.mark.slow
def test_three_real_machines(
    talos_lab: Lab, talos_nodes: MakeNodes, peer: Callable[[str], Path], tmp_path: Path
) -> None:
    kubectl = peer("kubectl")
    talos_lab.offer_kubernetes()
    nodes = talos_nodes(3)
    with balancer(talos_lab.network.gateway, [node.address for node in nodes]) as endpoint:
        person = Person(tmp_path, endpoint)
        _bring_up(person, talos_lab, nodes, kubectl)
        _removal_is_refused_while_one_is_off(person, nodes, kubectl)
        _power_cycle(person, nodes, kubectl)


@pytest.mark.slow
def test_a_real_machine_with_the_talos_before(
    talos_lab: Lab, talos_nodes: MakeNodes, peer: Callable[[str], Path], tmp_path: Path
) -> None:
    kubectl = peer("kubectl")
    talos_lab.offer_kubernetes(BEFORE)
    (node,) = nodes = talos_nodes(1, BEFORE)
    person = Person(tmp_path, node.address)
    person.write(talos_lab, nodes)
    code, told = person.talosmith("secrets", "init")
    assert code == 0, told
    _up(person)
    talosconfig, kubeconfig = person.inventory / "talosconfig", person.inventory / "kubeconfig"
    assert _members(talosconfig, node) == {node.name}
    _wait_for(lambda: _kubelets(kubectl, kubeconfig), lambda found: found == {node.name: BEFORE.kubernetes})
    assert BEFORE.talos in patiently(*_at(talosconfig, node), "version").partition("Server:")[2]
    _wait_for(lambda: _up(person), lambda told: "in sync" in told)
    _sysctls_change_without_a_reboot(person, talos_lab, nodes)


def _bring_up(person: Person, lab: Lab, nodes: list[Node], kubectl: Path) -> None:
    person.write(lab, nodes)

    code, told = person.talosmith("secrets", "init")
    assert code == 0, told
    code, told = person.talosmith("plan")
    assert code == 2, told
    _killed_once_etcd_is_started(person)

    _up(person)
    talosconfig, kubeconfig = person.inventory / "talosconfig", person.inventory / "kubeconfig"
    names = {node.name for node in nodes}
    for node in nodes:
        _wait_for(lambda node=node: _members(talosconfig, node), lambda found: found == names)
    _wait_for(lambda: _kubelets(kubectl, kubeconfig), lambda found: found == dict.fromkeys(names, NEWEST.kubernetes))
    talosctl(  # raises unless all is well
        *("--talosconfig", talosconfig, "health", "--wait-timeout", "10m"),
        *("--endpoints", nodes[0].address, "--nodes", nodes[0].address),
        *("--control-plane-nodes", ",".join(node.address for node in nodes)),
        seconds=LIMIT,
    )

    assert _available(kubectl, kubeconfig) == 2, "`up` has waited for the pods of the add-on"

    # A controller that lost its lease on a slow machine is not ready for a moment.
    _wait_for(lambda: _up(person), lambda told: "in sync" in told)

    boots = [node.boots for node in nodes]
    _sysctls_change_without_a_reboot(person, lab, nodes)

    # A flag of the API server restarts it, without a reboot: `up` is over when all three run with it.
    flags = {"apiVersion": "v1alpha1", "kind": "KubeAPIServerConfig", "extraArgs": {"goaway-chance": "0.001"}}
    person.write(lab, nodes, patches=[flags])
    code, told = person.talosmith("plan")
    assert code == 2 and "restart" in told and "no reboot" in told, told
    _up(person)
    assert [node.boots for node in nodes] == boots
    assert _api_server_flags(kubectl, kubeconfig) == dict.fromkeys(names, "--goaway-chance=0.001")


def _sysctls_change_without_a_reboot(person: Person, lab: Lab, nodes: list[Node]) -> None:
    boots = [node.boots for node in nodes]
    person.write(lab, nodes, talos={"sysctls": {"net.core.somaxconn": "4096"}})
    code, told = person.talosmith("plan")
    assert (code, "no reboot" in told) == (2, True), told
    _up(person)
    assert [node.boots for node in nodes] == boots
    for node in nodes:
        read = (*_at(person.inventory / "talosconfig", node), "read", "/proc/sys/net/core/somaxconn")
        _wait_for(lambda read=read: patiently(*read).strip(), lambda found: found == "4096")
    _wait_for(lambda: person.talosmith("plan"), lambda found: found[0] == 0)


def _removal_is_refused_while_one_is_off(person: Person, nodes: list[Node], kubectl: Path) -> None:
    """Nothing on the node that was to be removed has changed: neither Kubernetes, nor etcd, nor Talos."""
    staying, target, off = nodes
    talosconfig, kubeconfig = person.inventory / "talosconfig", person.inventory / "kubeconfig"
    names = {node.name for node in nodes}
    boots = target.boots
    off.cut_power()

    def refused() -> str:
        code, told = person.talosmith("destroy", "--node", target.name, "--yes")
        assert code == 6, told
        return told

    # If the leader was the one, the others elect another first.
    reason = f"without `{target.name}`, 1 of 2 members are healthy; 2 are needed"
    _wait_for(refused, lambda told: reason in told)
    assert not _node(kubectl, kubeconfig, target.name)["spec"].get("unschedulable")
    assert _members(talosconfig, staying) == names
    assert target.running and target.boots == boots


def _power_cycle(person: Person, nodes: list[Node], kubectl: Path) -> None:
    """All three lose their power, and `up` is run while they boot: healthy again, without a hand."""
    for node in nodes:
        node.cut_power()
    for node in nodes:
        node.start()
    _up(person)
    names = {node.name for node in nodes}
    _wait_for(lambda: _kubelets(kubectl, person.inventory / "kubeconfig").keys(), lambda found: found == names)
    for node in nodes:
        assert _members(person.inventory / "talosconfig", node) == names
    _wait_for(lambda: person.talosmith("plan"), lambda found: found[0] == 0)


def _up(person: Person) -> str:
    code, told = person.talosmith("up", "--yes")
    assert code == 0, told
    return told


def _wait_for(look: Callable[[], T], holds: Callable[[T], bool]) -> None:
    found: list[T] = []

    def reached() -> bool:
        found[:] = [look()]
        return holds(found[0])

    wait_until(reached, CALM, lambda: str(found[0]))


def _killed_once_etcd_is_started(person: Person) -> None:
    process = person.start("up", "--yes", "-o", "json")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{") and json.loads(line).get("type") == "step-done" and '"etcd/bootstrap"' in line:
            break
    else:
        pytest.fail("etcd was never started")
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()


def _at(talosconfig: Path, node: Node) -> tuple[str | Path, ...]:
    return ("--talosconfig", talosconfig, "-e", node.address, "-n", node.address)


def _members(talosconfig: Path, node: Node) -> set[str]:
    """Those that vote, as one of them lists them."""
    text = patiently(*_at(talosconfig, node), "etcd", "members")
    return {line.split()[2] for line in text.splitlines()[1:] if line.split()[-1] == "false"}


def _node(kubectl: Path, kubeconfig: Path, name: str) -> dict[str, Any]:
    command = [kubectl, "--kubeconfig", kubeconfig, "get", "node", name, "--output=json"]
    found: list[str] = []

    def answered() -> bool:  # its API may be behind the one that is off for a moment
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        found[:] = [answer.stdout if answer.returncode == 0 else answer.stderr]
        return answer.returncode == 0

    wait_until(answered, CALM, lambda: found[0])
    item: dict[str, Any] = json.loads(found[0])
    return item


def _available(kubectl: Path, kubeconfig: Path) -> int:
    """Pods of the add-on that run and are ready, as real kubelets report them."""
    command = [kubectl, "--kubeconfig", kubeconfig, "get", "deployment", "idle", "-n", "idle", "--output=json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(json.loads(answer.stdout)["status"].get("availableReplicas", 0))


def _api_server_flags(kubectl: Path, kubeconfig: Path) -> dict[str, str]:
    """By node: the flag that was changed, as the running API server has it."""
    selected = ("get", "pods", "-n", "kube-system", "-l", "k8s-app=kube-apiserver", "--output=json")
    answer = subprocess.run(
        [kubectl, "--kubeconfig", kubeconfig, *selected], capture_output=True, text=True, check=True
    )
    return {
        item["spec"]["nodeName"]: next(
            (flag for flag in item["spec"]["containers"][0]["command"] if flag.startswith("--goaway-chance")), ""
        )
        for item in json.loads(answer.stdout)["items"]
    }


def _kubelets(kubectl: Path, kubeconfig: Path) -> dict[str, str]:
    """Version of the kubelet of each node that is Ready; none while the API does not answer."""
    command = [kubectl, "--kubeconfig", kubeconfig, "get", "nodes", "--output=json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return {
        item["metadata"]["name"]: item["status"]["nodeInfo"]["kubeletVersion"]
        for item in (json.loads(answer.stdout)["items"] if answer.returncode == 0 else ())
        if any(one["type"] == "Ready" and one["status"] == "True" for one in item["status"]["conditions"])
    }
