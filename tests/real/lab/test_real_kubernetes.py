"""A lab with a real Kubernetes: nodes, pods and controllers by the real kubectl; killed, cut off, deleted."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from talosmith.kube import KubeClient, Ref, find_node, ready, wait
from tests.contract.worlds import eventually
from tests.real.lab.real_lab import PATIENCE, PATIENTLY, RealLab

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


@pytest.fixture(scope="module")
def lab(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealLab]:
    """One control plane, one worker. Who breaks it mends it."""
    binaries = os.pathsep.join(str(peer(name).parent) for name in ("etcd", "kube-apiserver"))
    made = RealLab(peer, tmp_path_factory.mktemp("real"), binaries)
    try:
        made.start()
        yield made
    finally:
        made.stop()
    made.wait("its programs to end with the lab", lambda: made.processes() == [])
    assert not made.place.exists()


def test_both_nodes_are_ready_and_tell_of_their_machines(lab: RealLab) -> None:
    nodes = {node["metadata"]["name"]: node for node in lab.found("nodes")["items"]}
    lab.wait("both nodes", lambda: lab.ready_nodes() == {"cp-1", "w-1"})
    machines = {one["name"]: one for one in lab.client.machines()}
    for name, node in nodes.items():
        assert node["status"]["nodeInfo"]["systemUUID"] == machines[name]["uuid"]
        assert node["status"]["addresses"][0]["address"] == machines[name]["endpoint"]
    assert CONTROL_PLANE in nodes["cp-1"]["metadata"]["labels"]
    assert {"key": CONTROL_PLANE, "effect": "NoSchedule"} in nodes["cp-1"]["spec"]["taints"]
    assert CONTROL_PLANE not in nodes["w-1"]["metadata"]["labels"]

    def leases() -> set[str]:
        found = lab.get("leases", "-n", "kube-node-lease").get("items", ())
        return {lease["metadata"]["name"] for lease in found}

    lab.wait("the nodes' leases", lambda: leases() == {"cp-1", "w-1"})


def test_the_programs_are_the_real_ones(lab: RealLab) -> None:
    lab.wait("its programs", lambda: sorted(lab.processes()) == sorted(PROGRAMS))
    assert "etcd ok" in lab.kubectl("get", "--raw", "/readyz?verbose").stdout


async def test_what_talos_brings_becomes_ready_and_the_bundle_opens_the_api(lab: RealLab) -> None:
    sets = [Ref("apps/v1", "DaemonSet", name, "kube-system") for name in ("kube-flannel", "kube-proxy")]
    everything = [*sets, Ref("apps/v1", "Deployment", "coredns", "kube-system")]
    async with KubeClient.from_bundle(lab.bundle, [str(lab.cluster.controlplanes[0].ip)]) as client:
        await wait(client, [ready(ref) for ref in everything], timeout=PATIENCE)
        await eventually(lambda: find_node(client, "w-1"), lambda node: node is not None and node.ready)
    lab.wait("its own pods", lambda: _mirrors(lab) == {f"{name}-cp-1" for name in PROGRAMS[1:]})


def _mirrors(lab: RealLab) -> set[str]:
    """Names of the pods that the kubelets run by themselves."""
    metadata = [pod["metadata"] for pod in lab.get("pods", "-n", "kube-system").get("items", ())]
    return {one["name"] for one in metadata if "kubernetes.io/config.mirror" in (one.get("annotations") or {})}


def test_a_deployment_is_rolled_out_scaled_and_removed_by_the_real_controllers(lab: RealLab) -> None:
    lab.kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3")
    lab.kubectl("rollout", "status", "deployment/web", PATIENTLY)
    pods = lab.found("pods", "-l", "app=web")["items"]
    assert {pod["spec"]["nodeName"] for pod in pods} == {"w-1"}
    node = lab.found("node", "w-1")
    addresses = {pod["status"]["podIP"] for pod in pods}
    assert len(addresses) == 3
    assert all(address.startswith(node["spec"]["podCIDR"].rpartition(".")[0]) for address in addresses)
    lab.kubectl("delete", "deployment", "web")
    lab.wait("the pods to be gone", lambda: lab.get("pods", "-l", "app=web").get("items") == [])


def test_a_job_comes_to_its_end(lab: RealLab) -> None:
    lab.kubectl("create", "job", "once", "--image=busybox", "--", "true")
    lab.kubectl("wait", "--for=condition=complete", "job/once", PATIENTLY)
    lab.kubectl("delete", "job", "once")


def test_secrets_are_sealed_in_etcd_with_the_clusters_key(lab: RealLab) -> None:
    lab.kubectl("create", "secret", "generic", "sealed", "--from-literal=word=xyzzy-plugh-not-to-be-read")
    lab.kubectl("create", "configmap", "open", "--from-literal=word=plover-may-be-read")
    content = b"".join(path.read_bytes() for path in lab.place.rglob("etcd/member/**/*") if path.is_file())
    assert b"plover-may-be-read" in content
    assert b"xyzzy-plugh-not-to-be-read" not in content
    assert lab.found("secret", "sealed")["data"]["word"]


def test_nobody_else_can_read_the_labs_keys(lab: RealLab) -> None:
    files = [path for path in (lab.place / "kubernetes").rglob("*") if "member" not in path.parts]
    assert any(path.name == "ca.key" for path in files)
    for path in files:
        with suppress(FileNotFoundError):  # written beside the old one, which it has replaced by now
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    listed = Path(f"/proc/{lab.pid}/task/{lab.pid}/children").read_text().split()
    for child in listed:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            assert b"PRIVATE KEY" not in Path(f"/proc/{child}/cmdline").read_bytes()


def test_a_worker_without_power_is_lost_and_comes_back(lab: RealLab) -> None:
    lab.client.power_off("w-1")
    lab.wait("the node to be lost", lambda: lab.ready_nodes() == {"cp-1"})
    lab.client.power_on("w-1")
    lab.wait("the node to be back", lambda: lab.ready_nodes() == {"cp-1", "w-1"})

    def restarted() -> bool:
        pods = lab.get("pods", "-n", "kube-system", "--field-selector", "spec.nodeName=w-1").get("items", ())
        counts = [one for pod in pods for one in pod["status"].get("containerStatuses", ())]
        return bool(counts) and all(one["restartCount"] >= 1 and one["ready"] for one in counts)

    lab.wait("its pods to be started again", restarted)


def test_without_its_control_plane_the_api_is_gone(lab: RealLab) -> None:
    lab.client.power_off("cp-1")
    try:
        assert "refused" in lab.kubectl("get", "nodes", check=False).stderr
    finally:
        lab.client.power_on("cp-1")
    lab.wait("the API", lambda: lab.ready_nodes() == {"cp-1", "w-1"})
    fault = lab.client.add_fault("kube-down", ["cp-1"])
    try:
        assert "refused" in lab.kubectl("get", "nodes", check=False).stderr
    finally:
        lab.client.clear_faults(fault["id"])
    lab.wait("the API", lambda: lab.ready_nodes() == {"cp-1", "w-1"})
    lab.wait("its programs", lambda: sorted(lab.processes()) == sorted(PROGRAMS))


def test_killed_it_leaves_nothing_behind_and_comes_back_with_everything(lab: RealLab) -> None:
    lab.kubectl("create", "configmap", "kept", "--from-literal=key=value")
    uid = lab.found("configmap", "kept")["metadata"]["uid"]
    os.kill(lab.pid, signal.SIGKILL)
    lab.wait("its programs to end", lambda: lab.processes() == [])
    lab.lab("start", lab.name)
    found = lab.wait("the API", lambda: lab.get("configmap", "kept"))
    assert (found["metadata"]["uid"], found["data"]) == (uid, {"key": "value"})
    lab.wait("the nodes", lambda: lab.ready_nodes() == {"cp-1", "w-1"})
    lab.wait("its programs", lambda: sorted(lab.processes()) == sorted(PROGRAMS))


def test_a_program_that_dies_is_started_again(lab: RealLab) -> None:
    (note,) = (lab.place / "kubernetes").rglob("kube-apiserver.pid")
    before = note.read_text()
    os.kill(int(before.partition(":")[2].strip(" }\n")), signal.SIGKILL)
    lab.wait("another API server", lambda: note.read_text() != before)
    lab.wait("the API", lambda: lab.ready_nodes() == {"cp-1", "w-1"})
