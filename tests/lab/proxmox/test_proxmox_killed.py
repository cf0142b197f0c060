"""`kill -9` of `up` and of `destroy` on Proxmox VE; then the same command again, until it comes to its end.

Runs die at their events, as in `test_up_killed.py`, and at each call that changes something in Proxmox: as soon as it
is answered, when a task of Proxmox has begun that nobody waits for any more.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lab.proxmox.outcomes_proxmox import converged
from tests.lab.proxmox.sites import Computer
from tests.lab.up.killing import GROUPS, KILLED, at_every_event, killed_twice
from tests.lab.up.killing import KILL as KILL_AT_EVENT
from tests.lab.up.places import UP, Here

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone

EXAMPLES = ("proxmox", "proxmox-inventory")
KILL_AT_CALL = "tests.lab.proxmox.hooks_proxmox:kill_at_call"
# Of the recorded durations; so the next run meets what the dead one has begun.
SLOW_TASKS, SLOWER_TASKS = 0.15, 0.4
CALLS = {"proxmox": 2, "proxmox-inventory": 1}  # each so many: of three machines from an ISO, calls are alike
Computers = Callable[..., Computer]


def made(computers: Computers, example: str) -> Computer:
    computer = computers(example)
    computer.boots_from("talos.iso" if example == "proxmox" else "talos.raw")
    return computer


def finished(computer: Computer, *hook: object) -> None:
    """By the same command; then `destroy` dies, too, and the next one leaves nothing."""
    computer.must(*UP)
    converged(computer)
    killed = computer.run(*computer.destroying, before=hook)
    assert killed.code in (KILLED, 0), killed.said
    computer.must(*computer.destroying)
    computer.site.assert_clean()


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("example", EXAMPLES)
def test_killed_at_events(computers: Computers, example: str, group: int) -> None:
    def scenario(here: Here, number: int) -> bool:
        assert isinstance(here, Computer)
        killed = killed_twice(here, *UP, number=number)
        if killed:
            finished(here, KILL_AT_EVENT, {"number": 1 + number % 12, "written": True})
        return killed

    assert at_every_event(lambda: made(computers, example), group, scenario, every=8) >= 1


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("example", EXAMPLES)
def test_killed_at_calls(computers: Computers, example: str, group: int) -> None:
    """As soon as a call is answered: its task goes on, and is met by the next run."""

    def scenario(here: Here, number: int) -> bool:
        assert isinstance(here, Computer)
        here.site.world.pace.scale = SLOW_TASKS
        killed = killed_at_call(here, number)
        if killed:
            finished(here, KILL_AT_CALL, {"number": 1 + number % 7, "sent": True})
        return killed

    assert at_every_event(lambda: made(computers, example), group, scenario, every=CALLS[example]) >= 1


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("example", EXAMPLES)
def test_what_a_killed_up_leaves_is_destroyed(computers: Computers, example: str, group: int) -> None:
    def scenario(here: Here, number: int) -> bool:
        assert isinstance(here, Computer)
        here.site.world.pace.scale = SLOWER_TASKS
        killed = killed_at_call(here, number)
        if killed:
            here.must(*here.destroying)
            here.site.assert_clean()
        return killed

    assert at_every_event(lambda: made(computers, example), group, scenario, every=2) >= 1


def killed_at_call(computer: Computer, number: int) -> bool:
    ended = computer.run(*UP, before=(KILL_AT_CALL, {"number": number, "sent": True}))
    assert ended.code in (KILLED, 0), ended.said
    return ended.code == KILLED
