"""One etcd cluster: who is a member, who leads, who may write, by the rules etcd has.

It is one object for all its members. What makes them differ is who can talk to whom, which is asked for at every step
(`Links`). A member cut off from the leader goes on with what it knew when it was cut off, and catches up when it is
back. There is one leader or none: a member that reaches no majority follows no leader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from talosmith_lab.clock import drawn, fraction
from talosmith_lab.kv import KeyValues

Alarm = Literal["NOSPACE", "CORRUPT"]

NO_LEADER = "etcdserver: no leader"
NOT_FOUND = "etcdserver: member not found"
NOT_ENOUGH_STARTED = "etcdserver: re-configuration failed due to not enough started members"
UNHEALTHY = "etcdserver: unhealthy cluster"
TOO_MANY_LEARNERS = "etcdserver: too many learner members in cluster"
NO_SPACE = "etcdserver: mvcc: database space exceeded"


class EtcdError(Exception):
    """A refusal in etcd's own words."""


class Links(Protocol):
    """The state of the world that a cluster depends on; machines by name."""

    def runs(self, machine: str, cluster: str) -> bool:
        """Whether the machine's etcd runs, with data of this cluster."""

    def talk(self, one: str, other: str) -> bool:
        """Whether the two machines reach each other."""


@dataclass(slots=True)
class Member:
    id: int
    name: str  # empty until it has started once
    machine: str
    address: str
    learner: bool

    @property
    def peer_url(self) -> str:
        return f"https://{_host(self.address)}:2380"

    @property
    def client_url(self) -> str:
        return f"https://{_host(self.address)}:2379" if self.name else ""


@dataclass(slots=True)
class View:
    """What a member knows."""

    members: dict[int, Member]
    store: KeyValues
    index: int


@dataclass(slots=True, kw_only=True)
class Cluster:
    uid: str
    talos_id: str  # the cluster.id of the machine configs its members were made from
    members: dict[int, Member] = field(default_factory=dict)
    leader: int = 0
    term: int = 1
    index: int = 1
    alarms: dict[int, Alarm] = field(default_factory=dict)
    store: KeyValues = field(default_factory=KeyValues)
    behind: dict[int, View] = field(default_factory=dict)  # what members know that are cut off

    @property
    def voters(self) -> list[Member]:
        return [member for member in self.members.values() if not member.learner]

    @property
    def learners(self) -> list[Member]:
        return [member for member in self.members.values() if member.learner]

    @property
    def quorum(self) -> int:
        return len(self.voters) // 2 + 1

    def find(self, machine: str) -> Member | None:
        return next((member for member in self.members.values() if member.machine == machine), None)

    # Who leads

    def reaches_quorum(self, member: Member, links: Links) -> bool:
        return len(self._reached(member, links)) >= self.quorum

    def can_lead(self, links: Links) -> list[Member]:
        """Voters that a majority, themselves included, can follow."""
        return [one for one in self.voters if self._runs(one, links) and self.reaches_quorum(one, links)]

    def leader_gone(self, links: Links) -> bool:
        """Whether there is a leader that no longer can be one."""
        return self.leader != 0 and all(one.id != self.leader for one in self.can_lead(links))

    def step_down(self) -> None:
        self.leader = 0

    def elect(self, links: Links) -> bool:
        """Elect a leader if a member can lead; whether there is one now."""
        candidates = self.can_lead(links)
        if self.leader or not candidates:
            return bool(self.leader)
        self.term += 1
        self.index += 1
        self.leader = min(candidates, key=lambda one: fraction(self.uid, self.term, one.id)).id
        return True

    def followed_by(self, member: Member, links: Links) -> int:
        """The leader as the member sees it: its id, or 0."""
        leader = self.members.get(self.leader)
        if leader is None or not self._runs(member, links) or not self._runs(leader, links):
            return 0
        near = member.id == leader.id or links.talk(member.machine, leader.machine)
        return leader.id if near and self.reaches_quorum(leader, links) else 0

    def move_leader(self, target: int, links: Links) -> None:
        member = self._member(target)
        if member.learner or member not in self.can_lead(links):
            raise EtcdError("etcdserver: bad leader transferee")
        self.term += 1
        self.index += 1
        self.leader = target

    def catch_up(self, links: Links) -> bool:
        """Members that were cut off since the last time keep what they knew, others know everything; any change?"""
        changed = False
        for member in self.members.values():
            if self.followed_by(member, links):
                changed |= self.behind.pop(member.id, None) is not None
            elif member.id not in self.behind:
                self.behind[member.id] = self._view()
                changed = True
        return changed

    def known_to(self, member: Member) -> View:
        return self.behind.get(member.id) or View(self.members, self.store, self.index)

    # Changes, each through a member

    def write(self, through: Member, links: Links, change: Callable[[KeyValues], object]) -> None:
        self._need_leader(through, links)
        if self.alarms:
            raise EtcdError(NO_SPACE)
        change(self.store)
        self.index += 1

    def add_learner(self, through: Member, links: Links, new: Member) -> None:
        self._need_leader(through, links)
        if self.learners:
            raise EtcdError(TOO_MANY_LEARNERS)
        if new.id in self.members or any(one.address == new.address for one in self.members.values()):
            raise EtcdError("etcdserver: Peer URLs already exists")
        self.members[new.id] = replace(new, learner=True)
        self.index += 1

    def promote(self, learner: int, links: Links) -> None:
        member = self._member(learner)
        if not member.learner:
            raise EtcdError("etcdserver: can only promote a learner member")
        if not self.followed_by(member, links):
            raise EtcdError("etcdserver: can only promote a learner member which is in sync with leader")
        member.learner = False
        self.index += 1

    def remove(self, through: Member, target: int, links: Links) -> None:
        self._need_leader(through, links)
        member = self._member(target)
        if not member.learner:
            self._check_removal(member, links)
        del self.members[target]
        self.alarms.pop(target, None)
        self.behind.pop(target, None)
        self.index += 1
        if self.leader == target:
            self.step_down()

    def raise_alarm(self, member: int, alarm: Alarm) -> None:
        self.alarms[member] = alarm
        self.index += 1

    def disarm(self, through: Member, links: Links) -> list[tuple[int, Alarm]]:
        self._need_leader(through, links)
        gone = sorted(self.alarms.items())
        self.alarms.clear()
        self.index += 1
        return gone

    def _check_removal(self, member: Member, links: Links) -> None:
        """What etcd calls its strict reconfiguration check: the rest must be started, and enough of it here."""
        rest = [one for one in self.voters if one.id != member.id]
        if len([one for one in rest if one.name]) < len(rest) // 2 + 1:
            raise EtcdError(NOT_ENOUGH_STARTED)
        leader = self.members[self.leader]
        active = self._reached(leader, links)
        if member not in active:
            return
        if len(active) - 1 < len(rest) // 2 + 1:
            raise EtcdError(UNHEALTHY)

    def _need_leader(self, through: Member, links: Links) -> None:
        if not self.followed_by(through, links):
            raise EtcdError(NO_LEADER)

    def _member(self, number: int) -> Member:
        if number not in self.members:
            raise EtcdError(NOT_FOUND)
        return self.members[number]

    def _runs(self, member: Member, links: Links) -> bool:
        return links.runs(member.machine, self.uid)

    def _reached(self, member: Member, links: Links) -> list[Member]:
        return [
            one
            for one in self.voters
            if self._runs(one, links) and (one.id == member.id or links.talk(member.machine, one.machine))
        ]

    def _view(self) -> View:
        members = {number: replace(member) for number, member in self.members.items()}
        return View(members, self.store.copy(), self.index)


def founded_by(uid: str, talos_id: str, founder: Member, store: KeyValues | None = None) -> Cluster:
    """A new cluster of one member, empty or with what a snapshot held."""
    cluster = Cluster(uid=uid, talos_id=talos_id, members={founder.id: replace(founder, learner=False)})
    if store is not None:
        cluster.store = store
    cluster.index = cluster.store.revision + 3
    return cluster


def member_id(seed: int, *parts: object) -> int:
    """Never 0, which means no leader."""
    return int.from_bytes(drawn(seed, "member", *parts)[:8], "big") or 1


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address
