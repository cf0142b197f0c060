"""Random worlds: whatever is off, wiped, gone, half done or changed, `up` makes it what the inventory says.

And it does nothing that the plan has not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.lab.up.outcomes import one_etcd
from tests.lab.up.places import UP, Ended, Here

pytestmark = pytest.mark.slow

KILL = "tests.lab.up.hooks:kill_at"
CONTROL_PLANES, WORKERS = ("cp-1", "cp-2", "cp-3"), ("w-1", "w-2")
NODES = (*CONTROL_PLANES, *WORKERS)
PATCHES = {
    "": "",
    "no-reboot": "patches: [{machine: {sysctls: {vm.swappiness: '10'}}}]\n",
    "reboot": "patches: [{machine: {env: {A: b}}}]\n",
}
METHODS = {
    "machine:create": ("machine.create",),
    "machine:power": ("machine.power-on",),
    "machine:resize": ("machine.resize",),
    "machine:destroy": ("machine.delete",),
}
CHANGING = {
    *(method for methods in METHODS.values() for method in methods), "machine.power-off", "ApplyConfiguration",
    "Bootstrap", "Reboot", "Reset", "EtcdForfeitLeadership", "EtcdLeaveCluster", "EtcdRemoveMemberByID",
}  # fmt: skip
MOVED = "saved plan is stale"
BY_OTHERS = ("EtcdRemoveMemberByID",)  # a member that is gone is taken out by another


@dataclass(frozen=True)
class World:
    """What has happened since the cluster was made, or while it was. Control planes are lost one at a time."""

    killed_at: int  # 0: it was brought up to its end
    off: frozenset[str]
    lost: str  # a node without its machine
    wiped: str
    patch: str
    workers: int
    cpu: int


def worlds() -> st.SearchStrategy[World]:
    return st.builds(
        World,
        killed_at=st.sampled_from([0, 0, 9, 17, 25, 33]),
        off=st.frozensets(st.sampled_from(NODES), max_size=3),
        lost=st.sampled_from(["", *WORKERS, "cp-1", "cp-3"]),
        wiped=st.sampled_from(["", *WORKERS, "cp-1", "cp-2"]),
        patch=st.sampled_from(list(PATCHES)),
        workers=st.integers(0, 3),
        cpu=st.sampled_from([2, 2, 4]),
    ).filter(lambda one: one.lost != one.wiped and not (one.lost.startswith("cp") and one.wiped.startswith("cp")))


def shown(here: Here, file: Path) -> Counter[tuple[str, str]]:
    """The changing calls that the plan announces: by node, and how often. It is kept in the file."""
    found: Counter[tuple[str, str]] = Counter()
    for step in here.plan("--out", str(file))["steps"]:
        for call in step["calls"]:
            for method in METHODS.get(call, (call.partition(":")[2],)):
                found["" if method in BY_OTHERS else step["subject"], method] += 1
    return found


def made(here: Here) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    if (here.lab_folder / "lab.json").exists():
        for key, counts in here.calls().items():
            machine, _, method = key.partition(" ")
            if method in CHANGING:
                found["" if method in BY_OTHERS else machine, method] += counts["done"]
    return found


def run_as_shown(here: Here) -> Ended:
    while True:
        file = here.root / "shown.json"
        announced, before = shown(here, file), made(here)
        ended = here.up(str(file), "--confirm", "mine", "--limit", "200")
        done = made(here) - before
        assert done <= announced, {key: count for key, count in done.items() if count > announced[key]}
        assert ended.code in (0, 1), ended.said
        if MOVED not in ended.err:  # since it was shown: nodes were still booting
            return ended
        assert not done


THE_SAME_EVERY_TIME = settings(
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)


def check(places: Callable[[], Here], world: World) -> None:
    here = places()
    here.write(3, 2)
    hook = (KILL, {"number": world.killed_at, "written": True}) if world.killed_at else None
    assert here.run(*UP, before=hook).code in (0, -9)
    there = here.machines() if (here.lab_folder / "lab.json").exists() else {}
    if world.wiped in there:
        here.lab.wipe(world.wiped)
        here.lab.power_on(world.wiped)
    for name in sorted(world.off & set(there)):
        here.lab.power_off(name)
    if world.lost in there and len(there) > 1:
        here.lab.delete(world.lost)
    workers = f"{{count: {world.workers}, cpu: {world.cpu}}}" if world.workers else 0
    here.write(3, workers, more=PATCHES[world.patch])
    for _ in range(4 if world.off else 2):
        ended = run_as_shown(here)
        if ended.code == 0 and not here.steps():
            break
    assert here.steps() == [], ended.said
    one_etcd(here, CONTROL_PLANES)
    assert sorted(here.machines()) == [*CONTROL_PLANES, *(f"w-{number + 1}" for number in range(world.workers))]
    here.end()


@pytest.mark.parametrize("number", [4, pytest.param(12, marks=pytest.mark.real)])  # real for its length alone
def test_random_worlds_converge_and_nothing_is_done_that_was_not_shown(
    places: Callable[[], Here], number: int
) -> None:
    settings(THE_SAME_EVERY_TIME, max_examples=number)(given(world=worlds())(check))(places)
