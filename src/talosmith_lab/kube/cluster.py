"""One cluster's Kubernetes: its objects and kinds, and the way to its etcd, which may refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from talosmith_lab.etcd import Cluster, EtcdError, Member
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kinds, Obj
from talosmith_lab.kube.storage import Storage, Write

if TYPE_CHECKING:
    from talosmith_lab.world import World

TIMED_OUT = "etcdserver: request timed out"


class EtcdRefusal(ApiError):
    """What etcd says instead of doing it."""

    def __init__(self, words: str) -> None:
        super().__init__(500, "", words)


class NoQuorum(EtcdRefusal):
    """etcd does not answer. A real server finds that out only after a while."""

    def __init__(self) -> None:
        super().__init__(TIMED_OUT)


class Controllers(Protocol):
    """Who does what follows from objects: pods for deployments, nodes for machines."""

    def settle(self) -> None:
        """Look at what has changed since the last time."""


class Kubernetes:
    """What all API servers of a cluster share."""

    def __init__(self, world: World, cluster: Cluster) -> None:
        self.world = world
        self.cluster = cluster
        self.storage = Storage(cluster)
        self.kinds = Kinds()
        self.controllers: Controllers | None = None
        self.logs: Callable[[Obj, str], list[tuple[float, str]]] | None = None  # a container's lines, by who runs it

    def member(self, machine: str = "") -> Member | None:
        """The etcd member on a machine, or any that follows a leader; None if it cannot be used."""
        members = self.cluster.members.values()
        for member in members:
            if (not machine or member.machine == machine) and self.cluster.followed_by(member, self.world):
                return member
        return None

    def check(self, machine: str = "") -> None:
        """Reads are of the latest, so they need a leader as well."""
        if self.member(machine) is None:
            raise NoQuorum

    def writer(self, machine: str = "") -> Write:
        def write(change: Callable[..., object]) -> None:
            member = self.member(machine)
            if member is None:
                raise NoQuorum
            try:
                self.cluster.write(member, self.world, change)
            except EtcdError as refusal:
                raise EtcdRefusal(str(refusal)) from None
            self.world.changed_clusters.add(self.cluster.uid)
            self.world.unsettled_kubernetes[self.cluster.uid] = None

        return write

    def now(self) -> str:
        return stamp(self.world.now())


def stamp(seconds: float) -> str:
    """As Kubernetes writes times."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def kubernetes_of(world: World, cluster: Cluster) -> Kubernetes:
    """The same for as long as the world and this cluster are there."""
    found = world.kubernetes.get(cluster.uid)
    if found is None or found.cluster is not cluster:
        found = world.kubernetes[cluster.uid] = Kubernetes(world, cluster)
        _restore(found)
    return found


def _restore(kubernetes: Kubernetes) -> None:
    """Serve what the definitions in etcd say."""
    from talosmith_lab.kube import crds  # which needs what is above

    for definition in crds.definitions(kubernetes):
        crds.serve(kubernetes, definition)
