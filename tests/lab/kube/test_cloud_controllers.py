"""Nodes that wait for a cloud controller manager, and what Talos brings for pods that use its API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from tests.lab.kube.controllers_lab import KubeCluster, condition, workload
from tests.lab.lab_worlds import Configs

pytestmark = pytest.mark.slow

TAINT = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
TOLERATES = {"tolerations": [{"operator": "Exists"}]}


@dataclass(frozen=True)
class Changed(Configs):
    """Configs with something added to the main document, and to that of the kubelet."""

    machine: dict[str, Any] = field(default_factory=dict)
    cluster: dict[str, Any] = field(default_factory=dict)
    kubelet: str = ""

    def text(self, role: str, hostname: str, *more: str, **changes: object) -> str:
        main, *others = Configs.text(self, role, hostname, *more, **changes).split("\n---\n")
        made = yaml.safe_load(main)
        made["machine"] |= {name: {**made["machine"].get(name, {}), **value} for name, value in self.machine.items()}
        made["cluster"] |= self.cluster
        kind = "kind: KubeletConfig"
        return "\n---\n".join([yaml.safe_dump(made), *others]).replace(kind, f"{kind}\n{self.kubelet}")


@pytest.fixture(scope="module")
def external() -> Configs:
    rotates = "extraArgs: {rotate-server-certificates: 'true'}"
    return Changed(cluster={"externalCloudProvider": {"enabled": True}}, kubelet=rotates)


def manager(*arguments: str) -> dict[str, Any]:
    made = workload("talos-cloud-controller-manager")
    spec = made["spec"]["template"]["spec"]
    spec |= {**TOLERATES, "hostNetwork": True}
    spec["containers"][0]["args"] = list(arguments)
    return made


def test_nodes_wait_for_a_cloud_controller(external: Configs) -> None:
    cluster = KubeCluster(external, "cp-1", "w-1")
    assert TAINT in cluster.get("Node", "w-1")["spec"]["taints"]
    cluster.create("Deployment", workload("web", 1))
    cluster.run()
    (pod,) = [one for one in cluster.list("Pod") if one["metadata"]["name"].startswith("web")]
    assert pod["status"]["phase"] == "Pending"
    scheduled = condition(pod, "PodScheduled")
    assert (scheduled["reason"], scheduled["status"]) == ("Unschedulable", "False")
    arguments = ("--controllers=cloud-node,node-csr-approval", "--cloud-provider=talos")
    cluster.create("DaemonSet", manager(*arguments), "kube-system")
    cluster.run()
    node = cluster.get("Node", "w-1")
    assert TAINT not in node["spec"].get("taints", [])
    assert node["spec"]["providerID"] == f"talos://lab/{cluster.lab.machine('w-1').address}"
    (pod,) = [one for one in cluster.list("Pod") if one["metadata"]["name"].startswith("web")]
    assert pod["status"]["phase"] == "Running"


def test_without_the_controller_for_nodes_they_go_on_waiting(external: Configs) -> None:
    cluster = KubeCluster(external, "cp-1", "w-1")
    requests = cluster.list("CertificateSigningRequest")
    assert requests
    assert not any((one.get("status") or {}).get("certificate") for one in requests)
    cluster.create("DaemonSet", manager("--controllers=node-csr-approval"), "kube-system")
    cluster.run()
    assert TAINT in cluster.get("Node", "w-1")["spec"]["taints"]
    assert all(one["status"]["certificate"] for one in cluster.list("CertificateSigningRequest"))


def test_a_node_that_is_initialised_stays_so(external: Configs) -> None:
    cluster = KubeCluster(external, "cp-1", "w-1")
    cluster.create("DaemonSet", manager(), "kube-system")
    cluster.run()
    before = cluster.get("Node", "w-1")["spec"]["providerID"]
    assert before.startswith("talos://")
    cluster.delete("DaemonSet", "talos-cloud-controller-manager", "kube-system")
    cluster.patch("Node", "w-1", {"metadata": {"labels": {"changed": "yes"}}})
    cluster.run()
    assert TAINT not in cluster.get("Node", "w-1")["spec"].get("taints", [])
    assert cluster.get("Node", "w-1")["spec"]["providerID"] == before


def test_without_an_external_cloud_no_node_waits() -> None:
    cluster = KubeCluster(Configs(), "cp-1", "w-1")
    assert TAINT not in cluster.get("Node", "w-1")["spec"].get("taints", [])
    cluster.create("DaemonSet", manager(), "kube-system")
    cluster.run()
    assert "providerID" not in cluster.get("Node", "w-1")["spec"]


@pytest.mark.parametrize("enabled", [True, False])
def test_talos_registers_its_service_accounts_if_pods_may_use_its_api(enabled: bool) -> None:
    configs = Changed(machine={"features": {"kubernetesTalosAPIAccess": {"enabled": enabled}}})
    cluster = KubeCluster(configs, "cp-1")
    found = cluster.api.kinds.named("talos.dev/v1alpha1", "ServiceAccount")
    assert (found is not None and found.namespaced and found.short_names == ("tsa",)) is enabled
