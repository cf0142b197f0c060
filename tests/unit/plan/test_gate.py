"""The gate against an oracle of its own: all sizes up to seven, every health, learner, alarm and disagreement."""

from __future__ import annotations

from itertools import product

import pytest

from talosmith.plan.gate import Act, EtcdView, Member, judge, judge_after


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


@pytest.mark.parametrize("act", ["restart", "remove"])
def test_never_two_control_planes_down_at_once(act: Act) -> None:
    """Quorum alone would allow it with five. One that is down itself may be acted on: else none could be repaired."""
    view = EtcdView(tuple(Member(f"cp-{i}", True) for i in range(5)))
    ready = {f"cp-{i}": "" for i in range(5)}
    assert judge(act, "cp-1", view, ready)
    refused = judge(act, "cp-1", view, {**ready, "cp-3": "connection refused"})
    assert not refused and "`cp-3` is not ready: connection refused" in refused.reason
    assert judge(act, "cp-3", view, {**ready, "cp-3": "connection refused"})
    assert judge(act, "cp-3", view, {**ready, "cp-3": "connection refused", "cp-4": "/readyz fails"})


def test_removals_are_judged_one_after_the_other() -> None:
    view = EtcdView((Member("cp-1", True), Member("cp-2", True), Member("cp-3", True)))
    assert judge("remove", "cp-3", view).reason == "2 of 2 members stay healthy without `cp-3`"
    assert judge("remove", "cp-2", view.without("cp-3")).reason == "1 of 1 members stay healthy without `cp-2`"
    grown = view.with_healthy("cp-4").with_healthy("cp-3")
    assert judge("remove", "cp-3", grown).reason == "3 of 3 members stay healthy without `cp-3`"


THREE = EtcdView((Member("cp-1", True), Member("cp-2", True), Member("cp-3", True)))
READY = {"cp-1": "", "cp-2": "", "cp-3": ""}


def members(*healthy: str, sick: str = "", learner: str = "") -> EtcdView:
    names = [*healthy, *filter(None, (sick, learner))]
    return EtcdView(tuple(Member(name, name != sick, learner=name == learner) for name in names))


@pytest.mark.parametrize(
    ("act", "etcd", "apis", "why"),
    [
        ("restart", THREE, READY, ""),
        ("restart", None, READY, "not known"),
        ("restart", members("cp-1", "cp-3", sick="cp-2"), READY, "member of `cp-2` is not healthy"),
        ("restart", members("cp-1", "cp-3"), READY, "member of `cp-2` is not healthy"),
        ("restart", members("cp-1", "cp-2", sick="cp-3"), READY, "member of `cp-3` is not healthy"),
        (
            "restart",
            THREE,
            {**READY, "cp-2": "/readyz fails: etcd"},
            "API of `cp-2` is not ready: /readyz fails: etcd",
        ),
        ("restart", THREE, {**READY, "cp-1": "refused"}, "API of `cp-1` is not ready: refused"),
        ("restart", THREE, {"cp-1": "", "cp-3": ""}, "API of `cp-2` is not ready: not asked"),
        ("restart", EtcdView(THREE.members, agreed=False), READY, "list different members"),
        ("remove", members("cp-1", "cp-3"), {**READY, "cp-2": "refused"}, ""),
        ("remove", THREE, READY, "`cp-2` is still an etcd member"),
        ("remove", members("cp-1", sick="cp-3"), READY, "member of `cp-3` is not healthy"),
        ("remove", members("cp-1", "cp-3"), {**READY, "cp-3": "refused"}, "API of `cp-3` is not ready"),
    ],
)
def test_an_act_is_over_when_the_control_plane_is_back_and_no_other_was_lost(
    act: Act, etcd: EtcdView | None, apis: dict[str, str], why: str
) -> None:
    verdict = judge_after(act, "cp-2", THREE, etcd, READY, apis)
    assert verdict.allowed == (not why) and why in verdict.reason, verdict


def test_what_was_down_before_the_act_is_not_waited_for() -> None:
    before = members("cp-1", "cp-2", sick="cp-3")
    apis = {**READY, "cp-3": "refused"}
    assert judge_after("remove", "cp-2", before, members("cp-1", sick="cp-3"), apis, {"cp-1": "", "cp-3": "refused"})


def test_two_members_cannot_lose_one() -> None:
    """What the node itself refused before Talos 1.13, and no longer does."""
    view = EtcdView((Member("cp-1", True), Member("cp-2", True)))
    assert not judge("restart", "cp-1", view)


def test_a_node_that_is_no_member_may_restart() -> None:
    view = EtcdView((Member("cp-1", True), Member("cp-2", True), Member("cp-3", True)))
    assert judge("restart", "cp-4", view)
