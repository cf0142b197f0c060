"""The rules of membership, leadership and writing, one by one and against random histories."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from talosmith_lab.etcd import (
    NO_LEADER,
    NO_SPACE,
    NOT_ENOUGH_STARTED,
    NOT_FOUND,
    TOO_MANY_LEARNERS,
    UNHEALTHY,
    Cluster,
    EtcdError,
    Member,
    founded_by,
)


class Wires:
    """Machines that run or not, and cuts between them."""

    def __init__(self) -> None:
        self.down: set[str] = set()
        self.cuts: set[frozenset[str]] = set()

    def runs(self, machine: str, cluster: str) -> bool:
        return machine not in self.down

    def talk(self, one: str, other: str) -> bool:
        return one == other or frozenset((one, other)) not in self.cuts

    def part(self, near: set[str], far: set[str]) -> None:
        self.cuts |= {frozenset((one, other)) for one in near for other in far}


def member(number: int, *, learner: bool = False) -> Member:
    return Member(number, f"m{number}", f"m{number}", f"127.77.0.{number}", learner)


def cluster_of(size: int, wires: Wires) -> Cluster:
    cluster = founded_by("abc", "talos", member(1))
    cluster.elect(wires)
    for number in range(2, size + 1):
        cluster.add_learner(cluster.members[1], wires, member(number))
        cluster.promote(number, wires)
    cluster.catch_up(wires)
    return cluster


def look(cluster: Cluster, wires: Wires) -> None:
    """What follows from a change of the wires."""
    if cluster.leader_gone(wires):
        cluster.step_down()
    cluster.catch_up(wires)
    cluster.elect(wires)
    cluster.catch_up(wires)


def put(cluster: Cluster, through: int, key: str, wires: Wires) -> None:
    cluster.write(cluster.members[through], wires, lambda store: store.put(key, b"1"))


def test_a_new_member_learns_first_and_only_one_at_a_time() -> None:
    wires = Wires()
    cluster = cluster_of(1, wires)
    cluster.add_learner(cluster.members[1], wires, member(2))
    assert cluster.members[2].learner
    assert cluster.quorum == 1
    with pytest.raises(EtcdError, match=TOO_MANY_LEARNERS):
        cluster.add_learner(cluster.members[1], wires, member(3))
    cluster.promote(2, wires)
    assert cluster.quorum == 2
    cluster.add_learner(cluster.members[2], wires, member(3))


def test_a_learner_that_is_not_in_sync_is_not_promoted() -> None:
    wires = Wires()
    cluster = cluster_of(1, wires)
    cluster.add_learner(cluster.members[1], wires, member(2))
    wires.down.add("m2")
    with pytest.raises(EtcdError, match="in sync"):
        cluster.promote(2, wires)


@pytest.mark.parametrize(("size", "survives"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (7, 3)])
def test_how_many_members_may_die(size: int, survives: int) -> None:
    for dead in range(1, size + 1):
        wires = Wires()
        cluster = cluster_of(size, wires)
        wires.down = {f"m{number}" for number in range(1, dead + 1)}
        look(cluster, wires)
        if dead <= survives:
            put(cluster, size, "k", wires)
        else:
            assert cluster.leader == 0
            for number in cluster.members:
                with pytest.raises(EtcdError, match=NO_LEADER):
                    put(cluster, number, "k", wires)


def test_the_smaller_side_of_a_partition_stands_still_and_catches_up() -> None:
    wires = Wires()
    cluster = cluster_of(5, wires)
    put(cluster, 1, "before", wires)
    old = cluster.leader
    near = {old, *[number for number in cluster.members if number != old][:1]}
    far = set(cluster.members) - near
    wires.part({f"m{number}" for number in near}, {f"m{number}" for number in far})
    look(cluster, wires)
    assert cluster.leader in far
    for number in near:
        assert cluster.followed_by(cluster.members[number], wires) == 0
        with pytest.raises(EtcdError, match=NO_LEADER):
            put(cluster, number, "lost", wires)
    put(cluster, min(far), "after", wires)
    assert cluster.known_to(cluster.members[min(near)]).store.get("after") is None
    wires.cuts.clear()
    look(cluster, wires)
    assert all(cluster.known_to(one).store.get("after") for one in cluster.members.values())


def test_removal_keeps_the_quorum_of_those_that_are_there() -> None:
    wires = Wires()
    cluster = cluster_of(3, wires)
    wires.down.add("m3")
    look(cluster, wires)
    leader = cluster.members[cluster.leader]
    with pytest.raises(EtcdError, match=UNHEALTHY):
        cluster.remove(leader, next(number for number in (1, 2) if number != leader.id), wires)
    cluster.remove(leader, 3, wires)  # the dead one may go
    assert set(cluster.members) == {1, 2}
    with pytest.raises(EtcdError, match=NOT_FOUND):
        cluster.remove(leader, 3, wires)


def test_the_last_member_stays() -> None:
    wires = Wires()
    cluster = cluster_of(1, wires)
    with pytest.raises(EtcdError, match=NOT_ENOUGH_STARTED):
        cluster.remove(cluster.members[1], 1, wires)


def test_who_leads_can_be_chosen_but_not_a_learner() -> None:
    wires = Wires()
    cluster = cluster_of(3, wires)
    term = cluster.term
    other = next(number for number in cluster.members if number != cluster.leader)
    cluster.move_leader(other, wires)
    assert (cluster.leader, cluster.term) == (other, term + 1)
    cluster.add_learner(cluster.members[other], wires, member(4))
    with pytest.raises(EtcdError, match="transferee"):
        cluster.move_leader(4, wires)


def test_an_alarm_stops_writes_until_it_is_disarmed() -> None:
    wires = Wires()
    cluster = cluster_of(3, wires)
    cluster.raise_alarm(2, "NOSPACE")
    with pytest.raises(EtcdError, match=NO_SPACE):
        put(cluster, 1, "k", wires)
    assert cluster.disarm(cluster.members[1], wires) == [(2, "NOSPACE")]
    put(cluster, 1, "k", wires)


class EtcdHistories(RuleBasedStateMachine):
    """Members come, go, die and are cut off; whatever happens, what was written stays and nobody leads alone."""

    def __init__(self) -> None:
        super().__init__()
        self.wires = Wires()
        self.cluster = cluster_of(1, self.wires)
        self.next = 2
        self.written: dict[str, int] = {}  # what somebody was told is written, and its revision

    def look(self) -> None:
        look(self.cluster, self.wires)

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        through = data.draw(st.sampled_from(sorted(self.cluster.members)))
        quorate = bool(self.cluster.followed_by(self.cluster.members[through], self.wires))
        expected = quorate and not self.cluster.learners
        try:
            self.cluster.add_learner(self.cluster.members[through], self.wires, member(self.next))
            assert expected
        except EtcdError:
            assert not expected
        self.next += 1
        self.look()

    @rule()
    def promote(self) -> None:
        for learner in self.cluster.learners:
            try:
                self.cluster.promote(learner.id, self.wires)
            except EtcdError:
                assert not self.cluster.followed_by(learner, self.wires)
        self.look()

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        through, target = (data.draw(st.sampled_from(sorted(self.cluster.members))) for _ in range(2))
        had_quorum = bool(self.cluster.can_lead(self.wires))
        try:
            self.cluster.remove(self.cluster.members[through], target, self.wires)
        except EtcdError:
            return
        self.look()
        assert had_quorum
        assert self.cluster.can_lead(self.wires), "a removal that was allowed has cost the quorum"

    @rule(data=st.data())
    def die_or_come_back(self, data: st.DataObject) -> None:
        name = f"m{data.draw(st.sampled_from(sorted(self.cluster.members)))}"
        self.wires.down ^= {name}
        self.look()

    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        near = data.draw(st.sets(st.sampled_from(sorted(self.cluster.members))))
        far = set(self.cluster.members) - near
        self.wires.part({f"m{one}" for one in near}, {f"m{one}" for one in far})
        self.look()

    @rule()
    def mend(self) -> None:
        self.wires.cuts.clear()
        self.look()

    @rule(data=st.data(), key=st.sampled_from("abc"))
    def write(self, data: st.DataObject, key: str) -> None:
        through = self.cluster.members[data.draw(st.sampled_from(sorted(self.cluster.members)))]
        allowed = bool(self.cluster.followed_by(through, self.wires))
        try:
            self.cluster.write(through, self.wires, lambda store: store.put(key, b"x"))
        except EtcdError:
            assert not allowed
            return
        assert allowed
        self.written[key] = self.cluster.store.revision

    @precondition(lambda self: len(self.cluster.voters) > 1)
    @rule(data=st.data())
    def hand_over(self, data: st.DataObject) -> None:
        target = data.draw(st.sampled_from([one.id for one in self.cluster.voters]))
        try:
            self.cluster.move_leader(target, self.wires)
        except EtcdError:
            assert self.cluster.members[target] not in self.cluster.can_lead(self.wires)
        self.look()

    @invariant()
    def one_leader_with_a_majority_or_none(self) -> None:
        seen = {
            found for one in self.cluster.members.values() if (found := self.cluster.followed_by(one, self.wires))
        }
        assert len(seen) <= 1
        for number in seen:
            leader = self.cluster.members[number]
            assert not leader.learner
            followers = [one for one in self.cluster.voters if self.cluster.followed_by(one, self.wires) == number]
            assert len(followers) >= len(self.cluster.voters) // 2 + 1
        assert bool(self.cluster.leader) == bool(self.cluster.can_lead(self.wires))

    @invariant()
    def at_most_one_learner(self) -> None:
        assert len(self.cluster.learners) <= 1

    @invariant()
    def nothing_written_is_lost_and_nobody_knows_more(self) -> None:
        for key, revision in self.written.items():
            entry = self.cluster.store.get(key)
            assert entry is not None and entry.modified >= revision
        for one in self.cluster.members.values():
            view = self.cluster.known_to(one)
            assert view.store.revision <= self.cluster.store.revision
            if self.cluster.followed_by(one, self.wires):
                assert view.store is self.cluster.store


TestEtcdHistories = EtcdHistories.TestCase
TestEtcdHistories.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
