"""How a control plane's etcd comes up: with the data it has, by joining others, or by a bootstrap.

A node knows nothing of bootstraps elsewhere. Its own data directory is all that guards it, as in reality: a client
that bootstraps a second node makes a second cluster.
"""

from __future__ import annotations

from talosmith_lab import snapshot
from talosmith_lab.clock import Key
from talosmith_lab.etcd import Cluster, EtcdError, Member, founded_by, member_id
from talosmith_lab.kv import KeyValues
from talosmith_lab.machine import EtcdData, Machine
from talosmith_lab.naming import hostname, main_address
from talosmith_lab.services import ETCD, fail_forever, set_health, set_state, time_synced
from talosmith_lab.versions import line_of
from talosmith_lab.world import World

REMOVED = "the member has been permanently removed from the cluster"
WAITING = (
    "etcd is waiting to join the cluster, if this node is the first node in the cluster, "
    'please run "talosctl bootstrap"'
)


class NotYet(Exception):
    """It cannot be done at this moment."""


class AlreadyDone(Exception):
    """The node has etcd data."""


def settle(world: World, machine: Machine) -> None:
    service = machine.service(ETCD)
    if service is None or machine.system is None:
        return
    if service.state == "Preparing":
        if machine.system.etcd is not None:
            world.after(machine.name, "etcd-start", "etcd-start", machine.boots)
        elif _hosts(world, machine):
            world.after(machine.name, "etcd-join", "etcd-join", machine.boots, world.counter)
        elif service.events[-1].message != WAITING:
            set_state(world, machine, ETCD, "Preparing", WAITING)
    elif service.state == "Running" and machine.system.etcd is not None:
        _watch(world, machine, machine.system.etcd)


def start(world: World, machine: Machine) -> None:
    """The time etcd needs to start with the data it has is over."""
    service = machine.service(ETCD)
    data = machine.system.etcd if machine.system else None
    if service is None or service.state != "Preparing" or data is None:
        return
    cluster = world.clusters.get(data.cluster)
    if cluster is None or data.member not in cluster.members:
        fail_forever(world, machine, ETCD, REMOVED)
        return
    member = cluster.members[data.member]
    member.name, member.address = hostname(world, machine), main_address(world, machine)
    if machine.run is not None:
        world.pulled(machine, f"registry.k8s.io/etcd:v{line_of(machine.run.version).etcd}")
    set_state(world, machine, ETCD, "Running", "Started task etcd (PID 2310) for container etcd")
    world.touch_cluster(cluster.uid)


def join(world: World, machine: Machine) -> None:
    """Try once to become a learner of a cluster that is there."""
    service = machine.service(ETCD)
    config = world.config(machine)
    if service is None or service.state != "Preparing" or config is None or machine.system is None:
        return
    name, address = hostname(world, machine), main_address(world, machine)
    for cluster, through in _hosts(world, machine):
        try:
            for stale in [one for one in cluster.members.values() if one.name == name or one.machine == machine.name]:
                cluster.remove(through, stale.id, world)
            number = member_id(world.seed, cluster.uid, machine.name, world.counter)
            cluster.add_learner(through, world, Member(number, "", machine.name, address, learner=True))
        except EtcdError as refusal:
            world.log(machine, ETCD, f"joining failed: {refusal}")
            continue
        world.counter += 1
        machine.system.etcd = EtcdData(cluster.uid, number)
        world.touch(machine)
        world.touch_cluster(cluster.uid)
        return


def bootstrap(world: World, machine: Machine, *, recover: bool = False, check_hash: bool = True) -> None:
    """Found a cluster on this node; raises `NotYet`, `AlreadyDone`, or `snapshot.BadSnapshot`."""
    service, config = machine.service(ETCD), world.config(machine)
    if service is None or config is None or machine.system is None:
        raise NotYet("bootstrap is not available yet")
    if not time_synced(world, machine):
        raise NotYet("time is not in sync yet")
    if machine.system.etcd is not None:
        raise AlreadyDone("etcd data directory is not empty")
    if service.state not in ("Preparing", "Finished"):  # finished: it has left its cluster
        raise NotYet("bootstrap is not available yet")
    store = _recovered(world, machine, check_hash) if recover else None
    world.timeline.cancel(Key(machine.name, "etcd-join"))
    uid = world.unique(machine.name, "etcd").replace("-", "")[:16]
    name, address = hostname(world, machine), main_address(world, machine)
    founder = Member(member_id(world.seed, uid, machine.name), name, machine.name, address, learner=False)
    world.clusters[uid] = founded_by(uid, config.cluster_id, founder, store)
    machine.system.etcd = EtcdData(uid, founder.id)
    if service.state == "Finished":
        set_state(world, machine, ETCD, "Preparing", "Running pre state")
    world.touch(machine)
    world.touch_cluster(uid)


def leave(world: World, machine: Machine) -> None:
    """Out of the cluster, and the data with it; raises `EtcdError`."""
    cluster = world.etcd_of(machine)
    member = cluster.find(machine.name) if cluster else None
    if cluster is not None and member is not None:
        cluster.remove(member, member.id, world)
        world.touch_cluster(cluster.uid)
    forget(world, machine)
    if machine.service(ETCD) is not None:
        set_state(world, machine, ETCD, "Finished", "Service finished successfully")


def forget(world: World, machine: Machine) -> None:
    """The data directory is gone. A cluster whose data no member has is gone, too."""
    if machine.system is None or machine.system.etcd is None:
        return
    uid, machine.system.etcd = machine.system.etcd.cluster, None
    world.touch(machine)
    world.touch_cluster(uid)
    if not any(one.system and one.system.etcd and one.system.etcd.cluster == uid for one in world.machines.values()):
        world.clusters.pop(uid, None)
        world.changed_clusters.add(uid)


def _hosts(world: World, machine: Machine) -> list[tuple[Cluster, Member]]:
    """Clusters that the node finds among its peers, each with a member that would let it in."""
    config = world.config(machine)
    if config is None or not config.discovery:
        return []
    found = []
    for cluster in world.clusters.values():
        if cluster.talos_id != config.cluster_id or any(one.machine != machine.name for one in cluster.learners):
            continue
        for member in cluster.members.values():
            if _lets_in(world, machine, cluster, member):
                found.append((cluster, member))
                break
    return found


def _lets_in(world: World, machine: Machine, cluster: Cluster, member: Member) -> bool:
    if member.machine == machine.name or not world.talk(machine.name, member.machine):
        return False
    config = world.config(world.machines[member.machine])
    return config is not None and config.discovery and bool(cluster.followed_by(member, world))


def _recovered(world: World, machine: Machine, check_hash: bool) -> KeyValues:
    assert machine.run is not None  # noqa: S101 - it has services
    if machine.run.recovery not in world.blobs:
        raise NotYet("failed to recover etcd: no snapshot was uploaded")
    return snapshot.read(world.blobs[machine.run.recovery], check_hash=check_hash)


def _watch(world: World, machine: Machine, data: EtcdData) -> None:
    """A running etcd says whether it is well, and ends when it was removed."""
    cluster = world.clusters.get(data.cluster)
    member = cluster.members.get(data.member) if cluster else None
    if cluster is None or member is None:
        fail_forever(world, machine, ETCD, REMOVED)
    elif cluster.followed_by(member, world):
        set_health(world, machine, ETCD, True, "Health check successful")
    else:
        set_health(world, machine, ETCD, False, "context deadline exceeded")
