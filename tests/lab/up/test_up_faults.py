"""Calls that fail, connections that break, answers that get lost: `up` converges, and does nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.lab.up.outcomes import converged
from tests.lab.up.places import Here

pytestmark = pytest.mark.slow

Places = Callable[[], Here]

NAMES = ["cp-1", "w-1"]
RUNS = 3  # a run may give up before it has changed anything: what it could not see it does not touch
LOST = ("--skip", "cluster/health")  # which takes minutes where each tenth answer is waited for in vain
CHANGING = ("machine.create", "ApplyConfiguration", "Bootstrap")


def asked(here: Here, methods: tuple[str, ...] = ()) -> int:
    """How often the lab was asked; without its answers to those who only wait for something."""
    waits = ("Version", "Watch", "Get", "List", "ServiceList", "EtcdStatus", "EtcdMemberList", "EtcdAlarmList")
    return sum(
        one["asked"]
        for key, one in here.calls().items()
        if (method := key.partition(" ")[2]) and (method in methods if methods else method not in waits)
    )


def up_until_done(here: Here, *argv: str) -> None:
    for _ in range(RUNS):
        ended = here.up(*argv)
        if ended.code == 0:
            return
        assert ended.code == 1 and "Traceback" not in ended.said, ended.said
    raise AssertionError(ended.said)


def with_fault(places: Places, seed: int, kind: str, **details: Any) -> Here:
    here = places()
    here.write(1, 1)
    here.make_lab(seed).add_fault(kind, **details)
    lost = LOST if kind == "time-out" and "percent" in details else ()
    up_until_done(here, *lost)
    here.lab.clear_faults()
    if lost:  # then nobody has waited for it
        assert here.run("health", "--wait", "300").code == 0
    converged(here, NAMES)
    return here


@pytest.mark.parametrize("kind", ["fail", "reset"])
def test_ten_percent_of_all_calls_go_wrong(places: Places, kind: str) -> None:
    with ThreadPoolExecutor(3) as pool:
        quiet = with_fault(places, 0, "slow", percent=1, seconds=0.0)
        unlucky = list(pool.map(lambda seed: with_fault(places, seed, kind, percent=10), range(1, 7)))
    if kind == "fail":
        total = sum(map(asked, unlucky)) / len(unlucky)
        assert total <= 1.5 * asked(quiet), (total, asked(quiet), [here.calls() for here in unlucky])
        changing = sum(asked(here, CHANGING) for here in unlucky) / len(unlucky)
        assert changing <= 1.5 * asked(quiet, CHANGING)


def test_answers_get_lost(places: Places) -> None:
    """Carried out, and never answered: it takes a minute until one gives up waiting, so all of them wait together."""
    scenarios: dict[str, Callable[[], object]] = {
        **{
            f"one in ten, seed {seed}": partial(with_fault, places, seed, "time-out", percent=10)
            for seed in range(1, 4)
        },
        **{method: partial(with_fault, places, 0, "time-out", method=method, times=1) for method in CHANGING},
        "machine.delete": lambda: lost_delete(places()),
        "EtcdLeaveCluster": lambda: lost_change(places(), 3, 2, "EtcdLeaveCluster", "EtcdLeaveCluster"),
        "EtcdForfeitLeadership": lambda: lost_change(places(), 3, 2, "EtcdForfeitLeadership", "EtcdLeaveCluster"),
        "machine.resize": lambda: lost_change(places(), 1, "{count: 1, cpu: 8}", "machine.resize", "machine.resize"),
        "Reboot": lambda: lost_change(places(), 1, 1, "Reboot", "Reboot", "patches: [{machine: {env: {A: b}}}]\n"),
    }
    with ThreadPoolExecutor(len(scenarios)) as pool:
        running = {name: pool.submit(scenario) for name, scenario in scenarios.items()}
    failed = {name: problem for name, one in running.items() if (problem := one.exception())}
    assert not failed


def lost_change(here: Here, before: object, after: object, method: str, effect: str, more: str = "") -> None:
    """A change of what runs, with one answer lost."""
    here.write(before, 0)
    assert here.up().code == 0
    here.write(after, 0, more=more)
    assert here.steps()
    here.lab.add_fault("time-out", method=method, times=1)
    ended = here.up("--confirm", "mine")
    assert ended.code == 0, ended.said
    assert here.done(effect) == 1, here.calls()
    assert here.steps() == []


def lost_delete(here: Here) -> None:
    here.write(1, 1)
    assert here.up().code == 0
    here.lab.create_machine("stranger", address=here.network.replace(".0/24", ".99"))
    here.lab.add_fault("time-out", method="machine.delete", times=2)
    ended = here.destroy()
    assert ended.code == 0, ended.said
    assert list(here.machines()) == ["stranger"]
