"""`kill -9` of `up` and of `destroy` on AWS; then the same command again, until it comes to its end.

Runs die at their events, as in `test_up_killed.py`, and at calls that change something in AWS: before they are sent,
or when they are answered. A sample here, a larger one in the real tier; TALOSMITH_KILL_EVERY=1 is all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.lab.aws.outcomes_aws import converged
from tests.lab.aws.sites import Computer
from tests.lab.up.killing import GROUPS, KILLED, at_every_event, killed_twice
from tests.lab.up.killing import KILL as KILL_AT_EVENT
from tests.lab.up.places import UP, Here

KILL_AT_CALL = "tests.lab.aws.hooks_aws:kill_at_call"
EVERY = int(os.environ.get("TALOSMITH_KILL_EVERY", "5"))
Computers = Callable[..., Computer]


def finished(computer: Computer, *hook: object) -> None:
    """By the same command; then `destroy` dies, too, and the next one leaves nothing."""
    computer.must(*UP)
    converged(computer, ["cp-1"], ["w-1"])
    killed = computer.run(*computer.destroying, before=hook)
    assert killed.code in (KILLED, 0), killed.said
    computer.must(*computer.destroying)
    computer.assert_clean()


def killed_at_call(computer: Computer, number: int, *, sent: bool) -> bool:
    ended = computer.run(*UP, before=(KILL_AT_CALL, {"number": number, "sent": sent}))
    assert ended.code in (KILLED, 0), ended.said
    return ended.code == KILLED


def at_events(computers: Computers, group: int, every: int) -> int:
    def scenario(here: Here, number: int) -> bool:
        assert isinstance(here, Computer)
        killed = killed_twice(here, *UP, number=number)
        if killed:
            finished(here, KILL_AT_EVENT, {"number": 1 + number % 43, "written": True})
        return killed

    return at_every_event(computers, group, scenario, every=every)


def at_calls(computers: Computers, group: int, every: int) -> int:
    def scenario(here: Here, number: int) -> bool:
        assert isinstance(here, Computer)
        killed = killed_at_call(here, number, sent=number % 2 == 0)
        if killed:
            finished(here, KILL_AT_CALL, {"number": 1 + number % 31, "sent": number % 2 == 1})
        return killed

    return at_every_event(computers, group, scenario, every=every)


@pytest.mark.slow
def test_killed_at_some_events_and_calls(computers: Computers) -> None:
    assert at_events(computers, 1, every=12) >= 1
    assert at_calls(computers, 2, every=10) >= 1


@pytest.mark.slow
@pytest.mark.real  # for its length alone
@pytest.mark.parametrize("group", range(GROUPS))
def test_killed_at_events(computers: Computers, group: int) -> None:
    assert at_events(computers, group, every=EVERY) >= 1


@pytest.mark.slow
@pytest.mark.real  # for its length alone
@pytest.mark.parametrize("group", range(GROUPS))
def test_killed_at_calls(computers: Computers, group: int) -> None:
    assert at_calls(computers, group, every=EVERY) >= 1


@pytest.mark.slow
@pytest.mark.real  # for its length alone
@pytest.mark.parametrize("group", range(GROUPS))
def test_what_a_killed_up_leaves_is_destroyed(computers: Computers, group: int) -> None:
    def scenario(here: Here, number: int) -> bool:
        assert isinstance(here, Computer)
        killed = killed_at_call(here, number, sent=True)
        if killed:
            here.must(*here.destroying)
            here.assert_clean()
        return killed

    assert at_every_event(computers, group, scenario, every=EVERY) >= 1
