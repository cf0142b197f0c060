"""One real node, driven by the real talosctl: maintenance, config, etcd, power."""

from __future__ import annotations

from pathlib import Path

from tests.real.talos.cluster import Cluster, patiently, wait_for_maintenance
from tests.real.talos.fixtures import MakeNodes
from tests.real.talos.lab import Lab
from tests.real.talos.releases import NEWEST


def test_a_worker_gets_its_certificates_from_a_control_plane(
    talos_lab: Lab, talos_nodes: MakeNodes, tmp_path: Path
) -> None:
    control_plane, worker = talos_nodes(2)
    cluster = Cluster(talos_lab, tmp_path, (control_plane,), (worker,))
    cluster.come_up()
    services = {"apid", "containerd", "cri", "kubelet", "machined"}
    cluster.wait(lambda: cluster.services(worker).keys() == services, lambda: cluster.services(worker))

    def members() -> dict[str, str]:
        return {one["spec"]["hostname"]: one["spec"]["machineType"] for one in cluster.get(worker, "members")}

    known = {control_plane.name: "controlplane", worker.name: "worker"}
    cluster.wait(lambda: members() == known, members)


def test_a_life_from_maintenance_mode_to_a_wipe(talos_lab: Lab, talos_nodes: MakeNodes, tmp_path: Path) -> None:
    (node,) = talos_nodes(1)
    wait_for_maintenance(node)
    insecure = ("--insecure", "--nodes", node.address)
    assert NEWEST.talos in patiently("version", *insecure).partition("Server:")[2]
    assert node.mac in patiently("get", "links", *insecure)

    cluster = Cluster(talos_lab, tmp_path, (node,))
    cluster.generate()
    cluster.apply(node)
    cluster.bootstrap()
    cluster.wait_for_stage("running")
    cluster.wait(lambda: cluster.members() == {node.name: False}, cluster.members)
    assert "Enabled:     RBAC" in cluster.surely("version")
    cluster.wait(lambda: set(cluster.services(node).values()) == {"Running"}, lambda: cluster.services(node))

    snapshot = tmp_path / "etcd.snapshot"
    cluster.surely("etcd", "snapshot", snapshot)
    assert snapshot.stat().st_size > 10_000

    node.cut_power()
    assert not node.running
    node.start()
    node.wait_for_api()
    cluster.wait_for_stage("running")
    cluster.wait(lambda: cluster.members() == {node.name: False}, cluster.members)

    cluster.surely("shutdown", "--wait=false", node=node)
    node.wait_until_off()

    node.wipe()
    node.start()
    wait_for_maintenance(node)
