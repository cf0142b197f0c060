"""Nodes come with their kubelets, are lost and found again; what they run follows."""

from __future__ import annotations

import pytest

from talosmith_lab import configure, hardware, joining, lifecycle
from talosmith_lab.kube.errors import ApiError
from tests.lab.kube.controllers_lab import KubeCluster, condition, is_ready, names, workload
from tests.lab.lab_worlds import Configs, Lab

pytestmark = pytest.mark.slow

UNREACHABLE = "node.kubernetes.io/unreachable"


@pytest.fixture(scope="module")
def configs() -> Configs:
    return Configs()


@pytest.fixture(scope="module")
def calm(configs: Configs) -> KubeCluster:
    """A cluster that tests only look at."""
    return KubeCluster(configs, "cp-1", "cp-2", "cp-3", "w-1", "w-2")


def taints(cluster: KubeCluster, node: str) -> set[tuple[str, str]]:
    return {(one["key"], one["effect"]) for one in cluster.get("Node", node)["spec"].get("taints") or ()}


def test_every_machine_becomes_a_ready_node(calm: KubeCluster) -> None:
    nodes = calm.list("Node")
    assert names(nodes) == ["cp-1", "cp-2", "cp-3", "w-1", "w-2"]
    assert all(map(is_ready, nodes))
    first, worker = nodes[0], nodes[3]
    machine = calm.lab.machine("cp-1")
    assert first["status"]["addresses"][0] == {"type": "InternalIP", "address": machine.address}
    info = first["status"]["nodeInfo"]
    assert (info["kubeletVersion"], info["osImage"]) == ("v1.37.1", "Talos (v1.14.1)")
    assert info["systemUUID"] == machine.uuid
    assert first["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] == ""
    assert "node-role.kubernetes.io/control-plane" not in worker["metadata"]["labels"]
    assert taints(calm, "cp-1") == {("node-role.kubernetes.io/control-plane", "NoSchedule")}
    assert taints(calm, "w-1") == set()
    assert calm.get("Lease", "w-1", "kube-node-lease")["spec"]["holderIdentity"] == "w-1"


def test_the_control_planes_own_pods_are_mirrored(calm: KubeCluster) -> None:
    components = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    for component in components:
        pods = calm.list("Pod", "kube-system", labels=f"k8s-app={component}")
        assert names(pods) == [f"{component}-{node}" for node in ("cp-1", "cp-2", "cp-3")]
        assert all(map(is_ready, pods))
        assert all("kubernetes.io/config.mirror" in pod["metadata"]["annotations"] for pod in pods)
        assert all(pod["metadata"]["ownerReferences"][0]["kind"] == "Node" for pod in pods)


def test_talos_own_manifests_run(calm: KubeCluster) -> None:
    for name in ("kube-proxy", "kube-flannel"):
        status = calm.get("DaemonSet", name, "kube-system")["status"]
        assert (status["desiredNumberScheduled"], status["numberReady"]) == (5, 5)
    assert calm.get("Deployment", "coredns", "kube-system")["status"]["availableReplicas"] == 2
    service = calm.get("Service", "kube-dns", "kube-system")
    assert service["spec"]["clusterIP"] == "10.96.0.10"
    (slice_,) = calm.list("EndpointSlice", "kube-system", labels="kubernetes.io/service-name=kube-dns")
    assert len(slice_["endpoints"]) == 2
    servers = [one["addresses"][0] for one in calm.get("EndpointSlice", "kubernetes")["endpoints"]]
    assert servers == [calm.lab.machine(name).address for name in ("cp-1", "cp-2", "cp-3")]


def test_a_mirror_that_is_deleted_comes_back(configs: Configs) -> None:
    cluster = KubeCluster(configs, "cp-1")
    before = cluster.get("Pod", "kube-scheduler-cp-1", "kube-system")["metadata"]["uid"]
    cluster.delete("Pod", "kube-scheduler-cp-1", "kube-system")
    cluster.run()
    after = cluster.get("Pod", "kube-scheduler-cp-1", "kube-system")
    assert after["metadata"]["uid"] != before
    assert is_ready(after)


def test_pods_leave_a_node_that_is_lost_and_it_comes_back_clean(configs: Configs) -> None:
    cluster = KubeCluster(configs, "cp-1", "w-1", "w-2")
    cluster.create("Deployment", workload("web", 4))
    cluster.run()
    lifecycle.power_off(cluster.lab.world, cluster.lab.machine("w-1"))
    cluster.run(1.0)
    assert is_ready(cluster.get("Node", "w-1"))  # nobody has noticed yet
    cluster.run(1.0)
    ready = condition(cluster.get("Node", "w-1"), "Ready")
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert taints(cluster, "w-1") == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    assert cluster.get("Deployment", "web")["status"]["availableReplicas"] == 2
    assert len(cluster.list("Pod")) == 4  # they stay for a while
    cluster.run(60)
    there = [pod for pod in cluster.list("Pod") if "deletionTimestamp" not in pod["metadata"]]
    assert [pod["spec"]["nodeName"] for pod in there] == ["w-2"] * 4
    assert all(map(is_ready, there))
    gone = [pod for pod in cluster.list("Pod") if "deletionTimestamp" in pod["metadata"]]
    assert [pod["spec"]["nodeName"] for pod in gone] == ["w-1"] * 2  # nobody is there to end them
    lifecycle.power_on(cluster.lab.world, cluster.lab.machine("w-1"))
    cluster.run()
    assert is_ready(cluster.get("Node", "w-1"))
    assert taints(cluster, "w-1") == set()
    assert len(cluster.list("Pod")) == 4
    assert any(reason == "NodeNotReady" for reason, _ in cluster.events("w-1"))


def test_a_reboot_keeps_pods_and_counts_their_restarts(configs: Configs) -> None:
    cluster = KubeCluster(configs, "cp-1", "w-1")
    cluster.create("Deployment", workload("web", 1))
    cluster.run()
    (before,) = cluster.list("Pod")
    lifecycle.power_cycle(cluster.lab.world, cluster.lab.machine("w-1"))
    cluster.run()
    (after,) = cluster.list("Pod")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["containerStatuses"][0]["restartCount"] == 1
    assert is_ready(after)
    assert any(reason == "Rebooted" for reason, _ in cluster.events("w-1"))


def test_a_machine_that_is_deleted_leaves_a_node_that_is_not_ready(configs: Configs) -> None:
    cluster = KubeCluster(configs, "cp-1", "w-1")
    hardware.delete(cluster.lab.world, cluster.lab.machine("w-1"))
    cluster.run()
    assert condition(cluster.get("Node", "w-1"), "Ready")["status"] == "Unknown"
    cluster.delete("Node", "w-1")
    cluster.run()
    assert names(cluster.list("Node")) == ["cp-1"]
    assert all(pod["spec"].get("nodeName") != "w-1" for pod in cluster.list("Pod", ""))
    assert cluster.find("Lease", "w-1", "kube-node-lease") is None


def test_a_node_that_is_deleted_under_its_kubelet_comes_back_with_the_next_start(configs: Configs) -> None:
    cluster = KubeCluster(configs, "cp-1", "w-1")
    cluster.delete("Node", "w-1")
    cluster.run()
    assert cluster.find("Node", "w-1") is None
    lifecycle.power_cycle(cluster.lab.world, cluster.lab.machine("w-1"))
    cluster.run()
    assert is_ready(cluster.get("Node", "w-1"))


def test_a_cordoned_node_gets_no_new_pods(configs: Configs) -> None:
    cluster = KubeCluster(configs, "cp-1", "w-1", "w-2")
    cluster.patch("Node", "w-1", {"spec": {"unschedulable": True}})
    cluster.create("Deployment", workload("web", 3))
    cluster.run()
    assert {pod["spec"]["nodeName"] for pod in cluster.list("Pod")} == {"w-2"}
    assert ("node.kubernetes.io/unschedulable", "NoSchedule") in taints(cluster, "w-1")
    cluster.patch("Node", "w-1", {"spec": {"unschedulable": None}})
    cluster.run()
    assert taints(cluster, "w-1") == set()


def test_without_a_place_a_pod_says_why_and_goes_when_there_is_one(configs: Configs) -> None:
    cluster = KubeCluster(configs, "cp-1", "w-1")
    template = workload("web", 1)
    template["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "fast"}
    cluster.create("Deployment", template)
    cluster.run()
    (pod,) = cluster.list("Pod")
    message = (
        "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s). preemption: 0/2 nodes are available: "
        "2 Preemption is not helpful for scheduling."
    )
    assert condition(pod, "PodScheduled")["message"] == message
    assert ("FailedScheduling", message) in cluster.events(names([pod])[0])
    cluster.patch("Node", "w-1", {"metadata": {"labels": {"disk": "fast"}}})
    cluster.run()
    assert is_ready(cluster.list("Pod")[0])


def test_without_a_cni_nodes_wait_for_one(configs: Configs) -> None:
    cluster = KubeCluster(configs, lab=_lab_without_cni(configs))
    assert [is_ready(node) for node in cluster.list("Node")] == [False, False]
    assert "cni plugin not initialized" in condition(cluster.get("Node", "w-1"), "Ready")["message"]
    assert cluster.find("DaemonSet", "kube-flannel", "kube-system") is None
    assert cluster.get("Deployment", "coredns", "kube-system")["status"].get("availableReplicas", 0) == 0
    cni = workload("cilium")
    spec = cni["spec"]["template"]["spec"]
    spec |= {"hostNetwork": True, "tolerations": [{"operator": "Exists"}]}
    spec["volumes"] = [{"name": "cni", "hostPath": {"path": "/etc/cni/net.d"}}]
    cluster.create("DaemonSet", cni, "kube-system")
    cluster.run()
    assert [is_ready(node) for node in cluster.list("Node")] == [True, True]
    assert cluster.get("Deployment", "coredns", "kube-system")["status"]["availableReplicas"] == 2


def _lab_without_cni(configs: Configs) -> Lab:
    lab = Lab(configs, "fast")
    lab.create("cp-1", "w-1")
    for name, role in (("cp-1", "controlplane"), ("w-1", "worker")):
        configure.apply(lab.world, lab.machine(name), configs.text(role, name, cni={"name": "none"}), "AUTO")
    lab.run()
    joining.bootstrap(lab.world, lab.machine("cp-1"))
    lab.run()
    return lab


def test_a_kubelet_that_rotates_its_certificate_asks_for_one(configs: Configs) -> None:
    text, kind = configs.text("controlplane", "cp-1"), "kind: KubeletConfig\n"
    changed = text.replace(kind, f"{kind}extraArgs:\n    rotate-server-certificates: 'true'\n", 1)
    assert changed != text
    lab = Lab(configs, "fast")
    lab.create("cp-1")
    configure.apply(lab.world, lab.machine("cp-1"), changed, "AUTO")
    lab.run()
    joining.bootstrap(lab.world, lab.machine("cp-1"))
    lab.run()
    (request,) = KubeCluster(configs, lab=lab).list("CertificateSigningRequest")
    assert request["spec"]["signerName"] == "kubernetes.io/kubelet-serving"
    assert request["spec"]["username"] == "system:node:cp-1"
    assert "system:nodes" in request["spec"]["groups"]
    assert not request["status"].get("conditions")  # it is for somebody to approve


def test_nothing_happens_without_quorum_and_goes_on_with_it(configs: Configs) -> None:
    cluster = KubeCluster(configs, "cp-1", "cp-2", "cp-3", "w-1")
    cluster.create("Deployment", workload("web", 1))
    cluster.run()
    for name in ("cp-2", "cp-3"):
        lifecycle.power_off(cluster.lab.world, cluster.lab.machine(name))
    cluster.run()
    revision = cluster.lab.etcd.store.revision
    with pytest.raises(ApiError):
        cluster.patch("Deployment", "web", {"spec": {"replicas": 3}})
    lifecycle.power_off(cluster.lab.world, cluster.lab.machine("w-1"))
    cluster.run()
    assert cluster.lab.etcd.store.revision == revision
    for name in ("cp-2", "cp-3", "w-1"):
        lifecycle.power_on(cluster.lab.world, cluster.lab.machine(name))
    cluster.run()
    cluster.patch("Deployment", "web", {"spec": {"replicas": 3}})
    cluster.run()
    assert cluster.get("Deployment", "web")["status"]["availableReplicas"] == 3
    assert all(map(is_ready, cluster.list("Node")))
