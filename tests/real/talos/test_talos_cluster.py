"""Three real control planes, driven by the real talosctl: joining, a reboot, a lost node that comes back empty."""

from __future__ import annotations

import pytest

from tests.real.talos.cluster import Cluster, wait_for_maintenance
from tests.real.talos.lab import Node
from tests.real.talos.shared_cluster import SIZE

pytestmark = pytest.mark.slow


def test_three_control_planes_have_joined_etcd(talos_cluster: Cluster) -> None:
    names = {node.name for node in talos_cluster.nodes}

    def discovered(by: Node) -> set[str]:
        return {member["spec"]["hostname"] for member in talos_cluster.get(by, "members")}

    for node in talos_cluster.nodes:
        talos_cluster.wait(lambda by=node: set(talos_cluster.members(by)) == names, lambda by=node: by.name)
        talos_cluster.wait(lambda by=node: discovered(by) == names, lambda by=node: (by.name, discovered(by)))


def test_a_rebooted_node_is_a_member_again(talos_cluster: Cluster) -> None:
    node = talos_cluster.nodes[1]
    before = node.boots
    talos_cluster.surely("reboot", "--wait=false", node=node)
    node.wait_for_boot(before + 1)
    talos_cluster.wait_for_stage("running", [node])
    talos_cluster.wait_for_members(SIZE, node=node)


def test_a_wiped_node_joins_again(talos_cluster: Cluster) -> None:
    first, *_, lost = talos_cluster.nodes
    lost.wipe()
    lines = talos_cluster.surely("etcd", "members", node=first).splitlines()
    member = next(line.split()[1] for line in lines if line.split()[2] == lost.name)
    talos_cluster.surely("etcd", "remove-member", member, node=first, already="member not found")
    talos_cluster.wait_for_members(SIZE - 1)

    lost.start()
    wait_for_maintenance(lost)
    talos_cluster.apply(lost)
    talos_cluster.wait_for_members(SIZE)
    talos_cluster.wait_for_stage("running")
