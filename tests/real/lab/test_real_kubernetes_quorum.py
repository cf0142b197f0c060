"""Three control planes before one real API server, and no real scheduler: what the lab plays must still show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.lab.real_lab import PATIENTLY, RealLab

LABEL = "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def lab(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealLab]:
    folder = tmp_path_factory.mktemp("quorum")
    binaries = folder / "bin"
    binaries.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        (binaries / name).symlink_to(peer(name))
    made = RealLab(peer, folder, str(binaries), controlplanes=3)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def _at(lab: RealLab, address: str) -> str:
    """What a control plane answers, by its own address and with its name in the certificate checked."""
    said = lab.kubectl("get", "nodes", "-o", "name", f"--server=https://{address}:6443", check=False)
    return said.stdout + said.stderr


def test_every_control_plane_and_the_virtual_address_lead_to_the_same_api(lab: RealLab) -> None:
    addresses = [str(node.ip) for node in lab.cluster.controlplanes]
    assert lab.cluster.network.vip is not None
    for address in (*addresses, str(lab.cluster.network.vip)):
        lab.wait(f"{address} to lead there", lambda at=address: "node/w-1" in _at(lab, at))


def test_without_a_real_scheduler_pods_get_nodes_all_the_same(lab: RealLab) -> None:
    lab.kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2")
    lab.kubectl("rollout", "status", "deployment/web", PATIENTLY)
    assert {pod["spec"]["nodeName"] for pod in lab.found("pods", "-l", "app=web")["items"]} == {"w-1"}
    lab.kubectl("cordon", "w-1")
    _wait_until_known(lab, "w-1")
    lab.kubectl("scale", "deployment/web", "--replicas=3")
    lab.wait("a third pod", lambda: len(lab.get("pods", "-l", "app=web").get("items", ())) == 3)
    waiting = [pod for pod in lab.found("pods", "-l", "app=web")["items"] if not pod["spec"].get("nodeName")]
    assert len(waiting) == 1  # control planes have a taint, the worker is cordoned
    lab.kubectl("uncordon", "w-1")
    lab.kubectl("rollout", "status", "deployment/web", PATIENTLY)


def _wait_until_known(lab: RealLab, name: str) -> None:
    """The lab follows the API a moment later. Once it has put a label of its own right, it knows all from before."""
    lab.kubectl("label", "node", name, f"{LABEL}=other", "--overwrite")
    lab.wait(f"the label of {name}", lambda: lab.found("node", name)["metadata"]["labels"][LABEL] == name)


def test_without_quorum_it_says_so_and_with_it_goes_on(lab: RealLab) -> None:
    first, *others = lab.cluster.controlplanes
    try:
        for node in others:
            lab.client.power_off(node.name)
        lab.wait("etcd to be lost", lambda: "etcdserver: request timed out" in _at(lab, str(first.ip)))
        assert "refused" in _at(lab, str(others[0].ip))
    finally:
        for node in others:
            lab.client.power_on(node.name)
    lab.wait("the API", lambda: "node/w-1" in _at(lab, str(first.ip)))
    lab.wait("all nodes", lambda: len(lab.ready_nodes()) == 4)


def test_cut_off_from_us_a_control_plane_falls_silent(lab: RealLab) -> None:
    first, second, _ = (str(node.ip) for node in lab.cluster.controlplanes)
    fault = lab.client.add_fault("partition", [lab.cluster.controlplanes[0].name])
    try:
        said = lab.kubectl("get", "nodes", f"--server=https://{first}:6443", "--request-timeout=2s", check=False)
        assert said.returncode != 0
        assert "refused" not in said.stderr
        assert "node/w-1" in _at(lab, second)
    finally:
        lab.client.clear_faults(fault["id"])
    lab.wait("it to answer again", lambda: "node/w-1" in _at(lab, first))
