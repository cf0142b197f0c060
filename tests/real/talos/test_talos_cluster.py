"""Three real control planes, driven by the real talosctl: joining, a reboot, a lost node that comes back empty."""

from __future__ import annotations

import pytest

from tests.real.talos.cluster import Cluster, talosctl
from tests.real.talos.shared_cluster import SIZE

pytestmark = pytest.mark.slow


def test_three_control_planes_have_joined_etcd(talos_cluster: Cluster) -> None:
    names = {node.name for node in talos_cluster.nodes}
    for node in talos_cluster.nodes:
        assert set(talos_cluster.members(node)) == names
        assert {member["spec"]["hostname"] for member in talos_cluster.get(node, "members")} == names


def test_a_rebooted_node_is_a_member_again(talos_cluster: Cluster) -> None:
    node = talos_cluster.nodes[1]
    before = node.boots
    talos_cluster("reboot", "--wait=false", node=node)
    node.wait_for_boot(before + 1)
    talos_cluster.wait_for_stage("running", [node])
    talos_cluster.wait_for_members(SIZE, node=node)


def test_a_wiped_node_joins_again(talos_cluster: Cluster) -> None:
    first, *_, lost = talos_cluster.nodes
    lost.wipe()
    line = next(line for line in talos_cluster("etcd", "members", node=first).splitlines() if lost.name in line)
    talos_cluster("etcd", "remove-member", line.split()[1], node=first)
    talos_cluster.wait_for_members(SIZE - 1)

    lost.start()
    lost.wait_for_api()
    assert "maintenance" in talosctl("get", "machinestatus", "--insecure", "--nodes", lost.address)
    talos_cluster.apply(lost)
    talos_cluster.wait_for_members(SIZE)
    talos_cluster.wait_for_stage("running")
