"""What happens to an etcd cluster as a whole when something around it has changed: elections, promotions, alarms."""

from __future__ import annotations

from talosmith_lab.etcd import Cluster, EtcdError
from talosmith_lab.machine import Machine
from talosmith_lab.world import World


def settle(world: World, uid: str) -> None:
    cluster = world.clusters.get(uid)
    if cluster is None:
        return
    before = (cluster.leader, sorted(cluster.behind))
    if cluster.leader_gone(world):
        cluster.step_down()
    cluster.catch_up(world)
    if not cluster.leader and cluster.can_lead(world):
        world.after(uid, "election", "election", cluster.term)
    for learner in cluster.learners:
        if cluster.followed_by(learner, world):
            world.after(uid, "promote", "etcd-promote", learner.id)
    _alarms(world, cluster)
    if (cluster.leader, sorted(cluster.behind)) != before:
        world.changed_clusters.add(uid)
    world.unsettled_groups[cluster.talos_id] = None
    for machine in world.control_planes(cluster.talos_id):  # members, and those that would like to be
        world.unsettled[machine.name] = None


def elect(world: World, uid: str) -> None:
    cluster = world.clusters.get(uid)
    if cluster is not None and not cluster.leader and cluster.elect(world):
        leader = cluster.members[cluster.leader]
        world.log(world.machines[leader.machine], "etcd", f"elected leader {leader.id:x} at term {cluster.term}")
        world.touch_cluster(uid)


def promote(world: World, uid: str) -> None:
    cluster = world.clusters.get(uid)
    if cluster is None:
        return
    for learner in cluster.learners:
        try:
            cluster.promote(learner.id, world)
        except EtcdError as refusal:
            world.log(world.machines[learner.machine], "etcd", f"promotion failed: {refusal}")
            continue
        world.touch_cluster(uid)


def follows(world: World, machine: Machine) -> bool:
    """Whether the node's own etcd has a leader."""
    cluster = world.etcd_of(machine)
    member = cluster.find(machine.name) if cluster else None
    return cluster is not None and member is not None and bool(cluster.followed_by(member, world))


def _alarms(world: World, cluster: Cluster) -> None:
    for member in cluster.members.values():
        full = world.active("full-disk", member.machine) and member.id not in cluster.alarms
        if full and cluster.followed_by(member, world):
            cluster.raise_alarm(member.id, "NOSPACE")
            world.changed_clusters.add(cluster.uid)
