"""`kill -9` of `up` and of `destroy` on Proxmox VE; then the same command again, until it comes to its end.

Runs die at their events, as in `test_up_killed.py`, and at each call that changes something in Proxmox: before the
call is sent, and as soon as it is answered, when a task of Proxmox has begun that nobody waits for any more.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lab.proxmox.outcomes_proxmox import converged, destroyed
from tests.lab.proxmox.sites import ISO, Computer
from tests.lab.up.killing import GROUPS, KILLED, at_every_event, killed_twice
from tests.lab.up.places import UP, Here

pytestmark = pytest.mark.slow

EXAMPLES = ("proxmox", "proxmox-inventory")
KILL = "tests.lab.proxmox.hooks_proxmox:kill_at_call"
SLOW_TASKS = 0.15  # of the recorded durations: the next run meets what the dead one has begun
Computers = Callable[..., Computer]


def made(computers: Computers, example: str) -> Computer:
    computer = computers(example)
    computer.boots_from(ISO if example == "proxmox" else "talos.raw")
    return computer


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("example", EXAMPLES)
def test_killed_at_events(computers: Computers, example: str, group: int) -> None:
    def scenario(here: Here, number: int) -> bool:
        assert isinstance(here, Computer)
        killed = killed_twice(here, *UP, number=number)
        here.must(*UP)
        converged(here)
        killed_twice(here, *here.destroying, number=1 + number % 12)
        here.must(*here.destroying)
        destroyed(here)
        return killed

    assert at_every_event(lambda: made(computers, example), group, scenario, every=3) >= 2


@pytest.mark.parametrize("sent", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("example", EXAMPLES)
def test_killed_at_calls(computers: Computers, example: str, group: int, sent: bool) -> None:
    def scenario(here: Here, number: int) -> bool:
        assert isinstance(here, Computer)
        here.site.world.pace.scale = SLOW_TASKS if sent else here.site.world.pace.scale
        killed = here.run(*UP, before=(KILL, {"number": number, "sent": sent}))
        assert killed.code in (KILLED, 0), killed.said
        here.must(*UP)
        converged(here)
        again = here.run(*here.destroying, before=(KILL, {"number": 1 + number % 8, "sent": sent}))
        assert again.code in (KILLED, 0), again.said
        here.must(*here.destroying)
        destroyed(here)
        return killed.code == KILLED

    assert at_every_event(lambda: made(computers, example), group, scenario) >= 3
