"""The first ten minutes with `kubectl` and a lab cluster: three control planes, two workers, what runs on them."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.real.lab.kubectl_tool import PATIENTLY, Kubectl
from tests.real.lab.lab_cluster import PATIENCE, LabCluster

pytestmark = pytest.mark.slow

NODES = ["cp-1", "cp-2", "cp-3", "w-1", "w-2"]
STATIC_PODS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


@pytest.fixture(scope="module")
def cluster(machines: LabCluster) -> LabCluster:
    """At the pace that a lab has if nothing is said."""
    machines.apply_configs()
    machines.bootstrap()
    return machines


@pytest.fixture(scope="module")
def admin(peer: Callable[[str], Path], cluster: LabCluster) -> Kubectl:
    """As the node itself hands the way in out: `talosctl kubeconfig`."""
    folder = cluster.folder / "kubectl"
    folder.mkdir()
    cluster.done("kubeconfig", str(folder / "kubeconfig"))
    kubectl = Kubectl(peer("kubectl"), folder / "kubeconfig", folder)
    nodes = [f"node/{name}" for name in NODES]
    kubectl.wait_for(*nodes)
    kubectl.done("wait", *nodes, "--for=condition=Ready", PATIENTLY)
    kubectl.done("wait", *nodes, "--for=jsonpath={.spec.podCIDR}", PATIENTLY)
    kube_system_is_well(kubectl)
    return kubectl


def kube_system_is_well(admin: Kubectl) -> None:
    """All that a cluster comes with is there, and nothing that is on its way out."""
    system = replace(admin, namespace="kube-system")
    pods = [f"pod/{name}-{node}" for name in STATIC_PODS for node in NODES[:3]]
    sets = ("daemonset.apps/kube-proxy", "daemonset.apps/kube-flannel", "deployment.apps/coredns")
    system.wait_for(*pods, *sets)
    system.done("wait", *pods, "--for=condition=Ready", PATIENTLY)
    for one in sets:
        system.done("rollout", "status", one, PATIENTLY)
    system.until(lambda told: not told, "get", "pods", "-o", "jsonpath={.items[*].metadata.deletionTimestamp}")


@pytest.fixture
def kubectl(admin: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """In a namespace of the test's own, that goes with it."""
    name = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
    admin.done("create", "namespace", name)
    made = replace(admin, namespace=name)
    made.done("wait", "serviceaccount/default", "--for=create", PATIENTLY)  # pods made before have none
    yield made
    admin.done("delete", "namespace", name, PATIENTLY)


def rows(table: str) -> list[list[str]]:
    """The cells of what `kubectl get` prints, without the headers."""
    return [re.split(r" {2,}", line.strip()) for line in table.splitlines()[1:]]


def web(kubectl: Kubectl, replicas: int = 2) -> None:
    kubectl.done("create", "deployment", "web", "--image=example.org/web:1", f"--replicas={replicas}")
    assert "successfully rolled out" in kubectl.done("rollout", "status", "deployment/web", PATIENTLY)


def test_nodes(admin: Kubectl) -> None:
    found = rows(admin.done("get", "nodes", "-o", "wide"))
    assert [row[0] for row in found] == NODES
    for name, status, roles, _, version, address, *_, runtime in found:
        assert status == "Ready"
        assert roles == ("control-plane" if name.startswith("cp") else "<none>")
        assert version == "v1.37.1"
        assert address.startswith("127.")
        assert runtime.startswith("containerd://")
    assert "Talos (v1.14.1)" in admin.done("get", "nodes", "-o", "wide")


def test_a_node_is_described(admin: Kubectl) -> None:
    told = admin.done("describe", "node", "cp-1")
    for part in (
        r"Roles: +control-plane",
        r"Taints: +node-role.kubernetes.io/control-plane:NoSchedule",
        r"Unschedulable: +false",
        r"HolderIdentity: +cp-1",
        r"Ready +True .* KubeletReady +kubelet is posting ready status",
        r"InternalIP: +127\.",
        r"Hostname: +cp-1",
        r"Kubelet Version: +v1.37.1",
        r"OS Image: +Talos \(v1.14.1\)",
        r"PodCIDR: +10\.244\.",
        r"kube-system +kube-apiserver-cp-1",
        r"Allocated resources:",
    ):
        assert re.search(part, told), part


def test_the_system_runs(admin: Kubectl) -> None:
    kube_system_is_well(admin)
    found = {row[0]: row[1:3] for row in rows(admin.done("get", "pods", "-n", "kube-system"))}
    for node in NODES[:3]:
        for name in STATIC_PODS:
            assert found[f"{name}-{node}"] == ["1/1", "Running"]
    for name in ("kube-proxy", "kube-flannel"):
        assert sum(pod.startswith(f"{name}-") for pod in found) == 5
    assert sum(pod.startswith("coredns-") for pod in found) == 2
    told = admin.done("describe", "pod", "kube-apiserver-cp-1", "-n", "kube-system")
    assert "Controlled By:        Node/cp-1" in told or "Controlled By:  Node/cp-1" in told
    assert "kubernetes.io/config.mirror" in told
    assert admin.done("get", "ds", "kube-proxy", "-n", "kube-system", "-o", "jsonpath={.status.numberReady}") == "5"
    assert "kube-dns" in admin.done("get", "svc", "-n", "kube-system")


def test_a_deployment_lives(kubectl: Kubectl) -> None:
    web(kubectl, 3)
    assert rows(kubectl.done("get", "deployment", "web"))[0][:4] == ["web", "3/3", "3", "3"]
    pods = rows(kubectl.done("get", "pods", "-o", "wide"))
    assert len(pods) == 3
    for _, ready, status, restarts, _, address, node, *_ in pods:
        assert (ready, status, restarts) == ("1/1", "Running", "0")
        assert address.startswith("10.244.")
        assert node in ("w-1", "w-2")
    assert {row[6] for row in pods} == {"w-1", "w-2"}
    told = kubectl.done("describe", "deployment", "web")
    assert "3 desired | 3 updated | 3 total | 3 available | 0 unavailable" in told
    assert re.search(r"Normal +ScalingReplicaSet .*Scaled up replica set web-\w+ from 0 to 3", told)
    kubectl.done("scale", "deployment", "web", "--replicas=1")
    kubectl.done("wait", "deployment/web", "--for=jsonpath={.status.replicas}=1", PATIENTLY)
    kubectl.done("delete", "deployment", "web")
    kubectl.done("wait", "pod", "-l", "app=web", "--for=delete", PATIENTLY)


def roll(kubectl: Kubectl, *command: str) -> str:
    """To the end: a rollout is over while pods that nobody counts any more are still going."""
    before = kubectl.done("get", "pods", "-o", "name").split()
    said = kubectl.done(*command)
    kubectl.done("rollout", "status", "deployment/web", PATIENTLY)
    kubectl.done("wait", *before, "--for=delete", PATIENTLY)
    return said


def test_a_rollout_goes_on_and_back(kubectl: Kubectl) -> None:
    web(kubectl)
    roll(kubectl, "set", "image", "deployment/web", "web=example.org/web:2")
    image = "jsonpath={.items[*].spec.containers[0].image}"
    assert set(kubectl.done("get", "pods", "-o", image).split()) == {"example.org/web:2"}
    history = kubectl.done("rollout", "history", "deployment/web")
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2"]
    assert "example.org/web:2" in kubectl.done("rollout", "history", "deployment/web", "--revision=2")
    assert "rolled back" in roll(kubectl, "rollout", "undo", "deployment/web")
    assert set(kubectl.done("get", "pods", "-o", image).split()) == {"example.org/web:1"}
    before = set(kubectl.done("get", "pods", "-o", "name").split())
    roll(kubectl, "rollout", "restart", "deployment/web")
    after = set(kubectl.done("get", "pods", "-o", "name").split())
    assert len(after) == 2
    assert not before & after


def test_a_pod_is_described_and_has_logs(kubectl: Kubectl) -> None:
    web(kubectl, 1)
    (pod,) = kubectl.done("get", "pods", "-o", "name").split()
    told = kubectl.done("describe", pod)
    for part in (
        r"Service Account: +default",
        r"Node: +w-\d/127\.",
        r"Status: +Running",
        r"IP: +10\.244\.",
        r"Controlled By: +ReplicaSet/web-",
        r"Image ID: +\S+",
        r"State: +Running",
        r"Ready: +True",
        r"kube-api-access-\w+ \(ro\)",
        r"Normal +Scheduled .*Successfully assigned .* to w-\d",
        r"Normal +Pull(ed|ing)",
        r"Normal +Created",
        r"Normal +Started",
    ):
        assert re.search(part, told), part
    logs = kubectl.done("logs", pod)
    assert logs.strip()
    assert kubectl.done("logs", "deployment/web", "--tail=1").splitlines() == logs.splitlines()[-1:]
    assert re.match(r"\d{4}-\d\d-\d\dT", kubectl.done("logs", pod, "--timestamps"))
    assert "previous terminated container" in kubectl.run("logs", pod, "--previous").err


def test_what_a_lab_cannot_do_is_refused_clearly(kubectl: Kubectl) -> None:
    web(kubectl, 1)
    (pod,) = kubectl.done("get", "pods", "-o", "name").split()
    for command in (["exec", pod, "--", "ls"], ["port-forward", pod, ":80"], ["attach", pod]):
        said = kubectl.run(*command)
        assert said.code == 1, said.all
        assert "the lab's nodes run no containers" in said.err
    assert kubectl.run("top", "nodes").err == "error: Metrics API not available\n"


def wait_for_line(watching: subprocess.Popen[str], seen: list[str], pattern: str) -> None:
    end = time.monotonic() + PATIENCE
    while not any(re.search(pattern, line) for line in list(seen)):
        assert time.monotonic() < end and watching.poll() is None, f"no {pattern!r} in {seen}"
        time.sleep(0.05)


def test_things_are_watched(kubectl: Kubectl) -> None:
    kubectl.done("run", "first", "--image=example.org/first:1")
    kubectl.done("wait", "pod", "first", "--for=condition=Ready", PATIENTLY)
    watching = kubectl.start("get", "pods", "-w", "--output-watch-events")
    assert watching.stdout is not None
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.extend(watching.stdout or ()))
    reader.start()
    try:
        wait_for_line(watching, seen, "first")  # once it has listed them, it misses nothing
        web(kubectl, 1)
        kubectl.done("delete", "deployment", "web")
        wait_for_line(watching, seen, "DELETED +web-")
    finally:
        watching.terminate()
        reader.join()
        watching.wait()
    told = [line.split()[0] for line in seen]
    assert told[0] == "EVENT"
    assert (told[1], told[-1]) == ("ADDED", "DELETED")
    assert any(re.search(r"ADDED +web-\S+ +0/1", line) for line in seen)
    assert any(re.search(r"MODIFIED +web-\S+ +1/1 +Running", line) for line in seen)
    assert any(re.search(r"web-\S+ +\d/1 +Terminating", line) for line in seen)


SETS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: "example.org/db:1"}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: "example.org/agent:1"}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "example.org/job:1"}]}}}
"""


def test_sets_and_jobs(kubectl: Kubectl) -> None:
    kubectl.done("apply", "-f", "-", given=SETS)
    kubectl.done("rollout", "status", "statefulset/db", PATIENTLY)
    kubectl.done("rollout", "status", "daemonset/agent", PATIENTLY)
    kubectl.done("wait", "job/once", "--for=condition=complete", PATIENTLY)
    assert kubectl.done("get", "pods", "-l", "app=db", "-o", "name").split() == ["pod/db-0", "pod/db-1", "pod/db-2"]
    nodes = kubectl.done("get", "pods", "-l", "app=agent", "-o", "jsonpath={.items[*].spec.nodeName}")
    assert sorted(nodes.split()) == NODES
    assert rows(kubectl.done("get", "job", "once"))[0][:3] == ["once", "Complete", "2/2"]
    done = rows(kubectl.done("get", "pods", "-l", "job-name=once"))
    assert [row[1:3] for row in done] == [["0/1", "Completed"]] * 2
    kubectl.done("create", "job", "by-hand", "--image=example.org/c:1")
    kubectl.done("wait", "job/by-hand", "--for=condition=complete", PATIENTLY)
    assert "all" not in kubectl.run("get", "all").err


def test_a_service_has_endpoints(kubectl: Kubectl) -> None:
    web(kubectl)
    kubectl.done("expose", "deployment", "web", "--port=80", "--target-port=8080")
    addresses = set(kubectl.done("get", "pods", "-o", "jsonpath={.items[*].status.podIP}").split())
    slices = ("endpointslice", "-l", "kubernetes.io/service-name=web")
    kubectl.done("wait", *slices, "--for=create", PATIENTLY)
    kubectl.done("wait", *slices, "--for=jsonpath={.endpoints[1].conditions.ready}=true", PATIENTLY)
    told = kubectl.done("describe", "service", "web")
    (line,) = [one for one in told.splitlines() if one.startswith("Endpoints:")]
    assert {one.removesuffix(":8080") for one in line.split()[1].split(",")} == addresses


def test_a_namespace_comes_with_its_account(kubectl: Kubectl) -> None:
    kubectl.done("wait", "serviceaccount/default", "--for=create", PATIENTLY)
    kubectl.done("wait", "configmap/kube-root-ca.crt", "--for=create", PATIENTLY)
    authority = kubectl.done("get", "cm", "kube-root-ca.crt", "-o", r"jsonpath={.data.ca\.crt}")
    assert authority.startswith("-----BEGIN CERTIFICATE-----")
    token = kubectl.done("create", "token", "default").strip()
    kubectl.done(
        "create", "rolebinding", "look", "--clusterrole=view", f"--serviceaccount={kubectl.namespace}:default"
    )
    config = yaml.safe_load(kubectl.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": token}
    other = kubectl.folder / f"{kubectl.namespace}.kubeconfig"
    other.write_text(yaml.safe_dump(config), encoding="utf-8")
    robot = Kubectl(kubectl.path, other, kubectl.folder, kubectl.namespace)
    assert f"system:serviceaccount:{kubectl.namespace}:default" in robot.done("auth", "whoami")
    assert "kube-root-ca.crt" in robot.done("get", "configmaps")
    assert "Forbidden" in robot.run("get", "secrets").err
    assert "Forbidden" in robot.run("get", "configmaps", "-n", "default").err


def test_a_node_is_drained_as_its_budget_allows(kubectl: Kubectl) -> None:
    web(kubectl)
    kubectl.done("create", "pdb", "web", "--selector=app=web", "--min-available=2")
    kubectl.done("wait", "pdb/web", "--for=jsonpath={.status.expectedPods}=2", PATIENTLY)
    said = kubectl.run("drain", "w-1", "--ignore-daemonsets", "--timeout=4s")  # it tries every 5 s, so once
    try:
        assert said.code == 1
        assert "Cannot evict pod as it would violate the pod's disruption budget" in said.err
        assert rows(kubectl.done("get", "node", "w-1"))[0][1] == "Ready,SchedulingDisabled"
        kubectl.done("patch", "pdb", "web", "--type=merge", "-p", '{"spec":{"minAvailable":1}}')
        told = kubectl.done("drain", "w-1", "--ignore-daemonsets", PATIENTLY)
        assert "node/w-1 drained" in told
        assert re.search(r"pod/web-\S+ evicted", told)
        kubectl.done("rollout", "status", "deployment/web", PATIENTLY)
        # The new pod may have been made only after the rollout was asked for.
        kubectl.until(
            lambda nodes: nodes.split() == ["w-2", "w-2"], "get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}"
        )
    finally:
        kubectl.done("uncordon", "w-1")
    assert rows(kubectl.done("get", "node", "w-1"))[0][1] == "Ready"


def test_events_are_told(kubectl: Kubectl) -> None:
    web(kubectl, 1)
    kubectl.done("run", "huge", "--image=example.org/c:1", '--overrides={"spec":{"nodeSelector":{"no":"where"}}}')
    kubectl.done("wait", "pod/huge", "--for=jsonpath={.status.conditions[0].reason}=Unschedulable", PATIENTLY)
    told = kubectl.done("events")
    assert re.search(r"Normal +Scheduled +Pod/web-\S+ +Successfully assigned", told)
    assert re.search(r"Warning +FailedScheduling +Pod/huge +0/5 nodes are available: ", told)
    warnings = kubectl.done("get", "events", "--field-selector=type=Warning", "--sort-by=.lastTimestamp")
    assert "FailedScheduling" in warnings
    assert "Scheduled " not in warnings


def test_a_node_that_dies_is_noticed(kubectl: Kubectl, cluster: LabCluster) -> None:
    web(kubectl, 2)
    cluster.lab("machine", "power-off", "w-2")
    try:
        kubectl.done("wait", "node/w-2", "--for=condition=Ready=Unknown", PATIENTLY)
        assert rows(kubectl.done("get", "node", "w-2"))[0][1] == "NotReady"
        kubectl.until(
            lambda taints: "node.kubernetes.io/unreachable" in taints.split(),
            *("get", "node", "w-2", "-o", "jsonpath={.spec.taints[*].key}"),
        )
    finally:
        cluster.lab("machine", "power-on", "w-2")
        kubectl.done("wait", "node/w-2", "--for=condition=Ready", PATIENTLY)
        kube_system_is_well(kubectl)
