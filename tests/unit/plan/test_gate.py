"""The gate against an oracle of its own: all sizes up to seven, every health, learner, alarm and disagreement."""

from __future__ import annotations

from itertools import product

import pytest

from talosmith.plan.gate import Act, EtcdView, Member, judge


def has_quorum(alive: int, all_of_them: int) -> bool:
    """More than half, counted in whole members: the oracle knows no formula of the gate."""
    return alive + alive > all_of_them


def oracle(act: Act, target: int, healthy: tuple[bool, ...], learner: int | None, *, calm: bool) -> bool:
    voters = [index for index in range(len(healthy)) if index != learner]
    alive = {index for index in voters if healthy[index]}
    if not calm or not has_quorum(len(alive), len(voters)):
        return False
    if learner is not None and not (act == "remove" and target == learner):
        return False
    if target == learner:
        return True
    stays = alive - {target}
    if act == "restart":
        return len(voters) == 1 or has_quorum(len(stays), len(voters))
    return len(voters) > 1 and has_quorum(len(stays), len(voters) - 1)


@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("act", ["restart", "remove"])
def test_every_world(act: Act, size: int) -> None:
    judged = 0
    for healthy in product((False, True), repeat=size):
        for learner in (None, *range(size)):
            if size == 8 and learner is None:
                continue  # seven voters and a learner, not eight voters
            members = tuple(Member(f"cp-{i}", healthy[i], learner=i == learner) for i in range(size))
            for agreed, alarms, target in product((True, False), ((), ("NOSPACE",)), range(size)):
                verdict = judge(act, f"cp-{target}", EtcdView(members, agreed, alarms))
                expected = oracle(act, target, healthy, learner, calm=agreed and not alarms)
                assert verdict.allowed == expected, (members, agreed, alarms, target, verdict)
                assert verdict.reason
                judged += 1
    assert judged >= 2**size


@pytest.mark.parametrize("act", ["restart", "remove"])
def test_what_is_unknown_is_refused(act: Act) -> None:
    assert not judge(act, "cp-1", None)
    assert not judge(act, "cp-1", EtcdView(()))


def test_one_at_a_time() -> None:
    view = EtcdView(tuple(Member(f"cp-{i}", True) for i in range(5)))
    assert judge("restart", "cp-1", view)
    assert judge("restart", "cp-1", view, away=frozenset({"cp-1"}))
    refused = judge("restart", "cp-1", view, away=frozenset({"cp-3"}))
    assert not refused and "cp-3" in refused.reason


def test_two_members_cannot_lose_one() -> None:
    """What the node itself refused before Talos 1.13, and no longer does."""
    view = EtcdView((Member("cp-1", True), Member("cp-2", True)))
    assert not judge("restart", "cp-1", view)


def test_a_node_that_is_no_member_may_restart() -> None:
    view = EtcdView((Member("cp-1", True), Member("cp-2", True), Member("cp-3", True)))
    assert judge("restart", "cp-4", view)
