"""Runs that are killed at each of their events, twice, and what is left then."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab.up.places import Here

KILLED = -9
GROUPS = 4  # so that several workers share the events
AT_ONCE = 3  # a run mostly waits
KILL = "tests.lab.up.hooks:kill_at"
# Every second event in the first tier, all of them in the real one: for their length alone.
BY_GROUP = pytest.mark.parametrize(
    "group", [0, pytest.param(1, marks=pytest.mark.real), 2, pytest.param(3, marks=pytest.mark.real)]
)

Places = Callable[[], Here]


def at_every_event(places: Places, group: int, scenario: Callable[[Here, int], bool], every: int = 1) -> int:
    """Runs the scenario for each event of this group, until one comes after the last event; how many there were."""

    def one(number: int) -> bool:
        here = places()
        try:
            return scenario(here, number)
        finally:
            here.end()

    killed = 0
    numbers = range(1 + group * every, 400, GROUPS * every)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for some in zip(*[iter(numbers)] * AT_ONCE, strict=False):
            results = list(pool.map(one, some))
            killed += sum(results)
            if not all(results):
                return killed
    raise AssertionError("a run without end")


def killed_twice(here: Here, *command: str, number: int) -> bool:
    """Whether the command has an event of that number; if not, it must have ended well."""
    first = here.run(*command, before=(KILL, {"number": number, "written": False}))
    assert first.code in (KILLED, 0), first.said
    second = here.run(*command, before=(KILL, {"number": 1 + number * 7 % 23, "written": True}))
    assert second.code in (KILLED, 0), second.said
    if first.code == KILLED:
        assert "took over the lock of" in second.err
    return first.code == KILLED
