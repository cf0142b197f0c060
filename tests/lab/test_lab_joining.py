"""etcd between nodes: bootstrap, joining, quorum, virtual addresses, recovery."""

from __future__ import annotations

from dataclasses import replace

import pytest

from talosmith_lab import configure, joining, lifecycle, quorum, sequences, snapshot
from talosmith_lab.etcd import EtcdError
from talosmith_lab.faults import Fault
from talosmith_lab.naming import held_vips
from tests.lab.lab_worlds import VIP, Configs, Lab


def voters(lab: Lab) -> set[str]:
    return {member.machine for member in lab.etcd.voters}


def test_three_control_planes_become_three_members_one_after_the_other(configs: Configs) -> None:
    lab = Lab(configs, "realistic")
    lab.create("cp-1", "cp-2", "cp-3")
    lab.configure("cp-1", "cp-2", "cp-3")
    joining.bootstrap(lab.world, lab.machine("cp-1"))
    seen: list[tuple[int, int]] = []
    for _ in range(400):
        lab.run(1)
        counts = (len(lab.etcd.voters), len(lab.etcd.learners))
        if not seen or seen[-1] != counts:
            seen.append(counts)
    assert seen == [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)]


def test_bootstrap_is_refused_where_it_cannot_be(lab: Lab) -> None:
    lab.create("cp-1")
    with pytest.raises(joining.NotYet):
        joining.bootstrap(lab.world, lab.machine("cp-1"))
    lab.configure("cp-1")
    joining.bootstrap(lab.world, lab.machine("cp-1"))
    with pytest.raises(joining.AlreadyDone):
        joining.bootstrap(lab.world, lab.machine("cp-1"))
    lab.run()
    with pytest.raises(joining.AlreadyDone):
        joining.bootstrap(lab.world, lab.machine("cp-1"))


def test_nothing_but_its_own_data_keeps_a_node_from_founding_a_second_cluster(configs: Configs) -> None:
    lab = Lab(configs, "realistic")
    lab.create("cp-1", "cp-2")
    lab.configure("cp-1", "cp-2")
    joining.bootstrap(lab.world, lab.machine("cp-1"))
    joining.bootstrap(lab.world, lab.machine("cp-2"))  # a careless client
    lab.run()
    assert len(lab.world.clusters) == 2
    assert {len(cluster.members) for cluster in lab.world.clusters.values()} == {1}


def test_a_replaced_first_control_plane_can_be_bootstrapped_by_mistake(configs: Configs) -> None:
    lab = Lab(configs, "realistic")
    lab.cluster_of("cp-1", "cp-2", "cp-3")
    lifecycle.power_off(lab.world, lab.machine("cp-1"))
    lab.run()
    lifecycle.wipe(lab.world, lab.machine("cp-1"), {"system": True})
    lifecycle.power_on(lab.world, lab.machine("cp-1"))
    lab.run()
    configure.apply(lab.world, lab.machine("cp-1"), configs.text("controlplane", "cp-1"), "AUTO")
    while lab.machine("cp-1").service("etcd") is None or lab.machine("cp-1").service("etcd").state != "Preparing":  # type: ignore[union-attr]
        lab.run(0.5)
    joining.bootstrap(lab.world, lab.machine("cp-1"))
    assert len(lab.world.clusters) == 2


def test_leader_and_virtual_address_move_when_their_node_dies(lab: Lab) -> None:
    lab.cluster_of("cp-1", "cp-2", "cp-3")
    holder = next(name for name in lab.world.machines if held_vips(lab.world, lab.machine(name)))
    leader = lab.leader()
    for name in {holder, leader}:
        lifecycle.power_off(lab.world, lab.machine(name))
        lab.run()
        assert lab.leader() not in ("", name)
        holders = [one for one in lab.world.machines.values() if VIP in held_vips(lab.world, one)]
        assert len(holders) == 1 and holders[0].name != name
        lifecycle.power_on(lab.world, lab.machine(name))
        lab.run()


def test_without_quorum_there_is_no_leader_no_virtual_address_and_no_write(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3", "w-1")
    for name in ("cp-1", "cp-2"):
        lifecycle.power_off(lab.world, lab.machine(name))
    lab.run()
    assert lab.leader() == ""
    assert lab.world.vip_holders == {}
    last = cluster.find("cp-3")
    assert last is not None
    with pytest.raises(EtcdError):
        cluster.write(last, lab.world, lambda store: store.put("k", b"v"))
    assert not lab.machine("w-1").run.node_ready  # type: ignore[union-attr]
    etcd = lab.machine("cp-3").service("etcd")
    assert etcd and etcd.state == "Running" and etcd.healthy is False
    lifecycle.power_on(lab.world, lab.machine("cp-1"))
    lab.run()
    assert lab.leader() and lab.world.vip_holders and lab.machine("w-1").run.ready  # type: ignore[union-attr]


def test_data_survives_reboots_of_all_at_once(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3")
    member = next(iter(cluster.members.values()))
    cluster.write(member, lab.world, lambda store: store.put("kept", b"v"))
    for machine in lab.world.machines.values():
        lifecycle.power_off(lab.world, machine)
    lab.run()
    for machine in lab.world.machines.values():
        lifecycle.power_on(lab.world, machine)
    lab.run()
    assert lab.etcd is cluster and cluster.store.get("kept") and len(cluster.voters) == 3 and lab.leader()


def test_leave_and_come_back(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3")
    leader = lab.leader()
    joining.leave(lab.world, lab.machine(leader))
    lab.run()
    assert voters(lab) == {"cp-1", "cp-2", "cp-3"} - {leader}
    assert lab.machine(leader).system.etcd is None  # type: ignore[union-attr]
    assert lab.leader() not in ("", leader)
    etcd = lab.machine(leader).service("etcd")
    assert etcd and (etcd.state, etcd.healthy) == ("Finished", False)
    sequences.request(lab.world, lab.machine(leader), "reboot")  # the only way to start it again
    lab.run()
    assert voters(lab) == {"cp-1", "cp-2", "cp-3"} and lab.etcd is cluster


def test_a_removed_member_says_so_and_does_not_come_back(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3")
    leader = cluster.members[cluster.leader]
    victim = next(member for member in cluster.members.values() if member.id != leader.id)
    cluster.remove(leader, victim.id, lab.world)
    lab.world.touch_cluster(cluster.uid)
    lab.run()
    etcd = lab.machine(victim.machine).service("etcd")
    assert etcd and (etcd.state, etcd.healthy) == ("Waiting", False) and joining.REMOVED in etcd.events[-1].message
    sequences.request(lab.world, lab.machine(victim.machine), "reboot")
    lab.run()
    etcd = lab.machine(victim.machine).service("etcd")
    assert etcd and etcd.state == "Waiting" and etcd.fails  # its data is of a member that is not one


def test_recovery_from_a_snapshot(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3")
    member = next(iter(cluster.members.values()))
    cluster.write(member, lab.world, lambda store: store.put("/registry/precious", b"thing"))
    kept = cluster.store.copy()
    saved = snapshot.write(cluster.store, index=cluster.index, term=cluster.term, members=[(1, "a", "b")])
    for machine in lab.world.machines.values():
        sequences.request(
            lab.world, machine, "reset", leave=False, reboot=True, system=False, partitions=["EPHEMERAL"]
        )
    lab.run()
    assert not lab.world.clusters
    first = lab.machine("cp-2")
    with pytest.raises(joining.NotYet, match="no snapshot"):
        joining.bootstrap(lab.world, first, recover=True)
    for content, error in ((saved[:-1], "hash"), (saved[:-1] + b"x", "sha256")):
        lab.world.blobs["damaged"] = content
        first.run.recovery = "damaged"  # type: ignore[union-attr]
        with pytest.raises(snapshot.BadSnapshot, match=error):
            joining.bootstrap(lab.world, first, recover=True)
        assert not lab.world.clusters
    lab.world.blobs["good"] = saved
    first.run.recovery = "good"  # type: ignore[union-attr]
    joining.bootstrap(lab.world, first, recover=True)
    lab.run()
    assert voters(lab) == {"cp-1", "cp-2", "cp-3"}
    assert lab.etcd.store.get("/registry/precious") == kept.get("/registry/precious")


def test_a_full_disk_raises_the_alarm_and_stops_writes(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1")
    lab.world.faults["f"] = Fault(id="f", kind="full-disk", machines=["cp-1"])
    quorum.settle(lab.world, cluster.uid)
    member = cluster.find("cp-1")
    assert member and cluster.alarms == {member.id: "NOSPACE"}
    with pytest.raises(EtcdError, match="space exceeded"):
        cluster.write(member, lab.world, lambda store: store.put("k", b"v"))


def test_nodes_without_discovery_do_not_find_each_other(lab: Lab, configs: Configs) -> None:
    lab.create("cp-1", "cp-2")
    for name in ("cp-1", "cp-2"):
        text = configs.text("controlplane", name, discovery=False)
        configure.apply(lab.world, lab.machine(name), text, "AUTO")
    lab.run()
    joining.bootstrap(lab.world, lab.machine("cp-1"))
    lab.run()
    assert voters(lab) == {"cp-1"}
    etcd = lab.machine("cp-2").service("etcd")
    assert etcd and etcd.state == "Preparing"


def test_two_clusters_in_one_lab_keep_apart(configs: Configs) -> None:
    lab = Lab(configs)
    lab.cluster_of("cp-1", "cp-2")
    bundle = configs.bundle
    other = Configs(bundle=replace(bundle, cluster_id=bundle.cluster_id[::-1]), name="other", vip="127.77.0.6")
    for name in ("cp-a", "cp-b"):
        lab.create(name, config=other.text("controlplane", name))
    joining.bootstrap(lab.world, lab.machine("cp-a"))
    lab.run()
    assert sorted(sorted(one.machine for one in cluster.voters) for cluster in lab.world.clusters.values()) == [
        ["cp-1", "cp-2"],
        ["cp-a", "cp-b"],
    ]
    assert len(lab.world.vip_holders) == 2
