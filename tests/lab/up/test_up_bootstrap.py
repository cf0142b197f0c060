"""etcd is started exactly once: every control plane empty, with data or silent, in all combinations."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from tests.lab.up.outcomes import one_etcd
from tests.lab.up.places import Here
from tests.waiting import until

pytestmark = pytest.mark.slow

STATES = ("empty", "data", "silent")
PAIRS = [*combinations_with_replacement(STATES, 2)]  # of the two that are never bootstrapped
SWAPPED = [(third, second) for second, third in PAIRS if second != third]
CONTROL_PLANES = ("cp-1", "cp-2", "cp-3")
IN_VAIN = ("--limit", "2")  # seconds; for runs that cannot come to a good end, however long they are given


class Cluster:
    """A cluster of three control planes that can be put back to how it was when it was new."""

    def __init__(self, here: Here) -> None:
        self.here = here
        here.write(3, 0)
        ended = here.up()
        assert ended.code == 0, ended.said
        (cluster,) = here.etcd()
        self.etcd = cluster["id"]
        self._kept = here.root / "kept"
        self._stop()
        shutil.copytree(here.lab_folder, self._kept)

    def again(self) -> None:
        if (self.here.lab_folder / "lab.json").exists():
            self._stop()
        shutil.rmtree(self.here.lab_folder)
        shutil.copytree(self._kept, self.here.lab_folder)
        self.here.make_lab()
        until(lambda: all(machine["ready"] for machine in self.here.lab.machines()))

    def _stop(self) -> None:
        pid = json.loads((self.here.lab_folder / "lab.json").read_text())["pid"]
        self.here.lab.stop()
        until(lambda: not Path(f"/proc/{pid}").exists())


def put(here: Here, name: str, state: str) -> None:
    if state == "empty":
        here.lab.wipe(name)
        here.lab.reboot(name)
        until(lambda: here.lab.machine(name)["stage"] == "maintenance")
    elif state == "silent":
        here.lab.add_fault("partition", [name])


def examine(cluster: Cluster, states: tuple[str, ...]) -> None:
    here = cluster.here
    cluster.again()
    for name, state in zip(CONTROL_PLANES, states, strict=True):
        put(here, name, state)
    works = states == ("empty",) * 3 or ("silent" not in states and states.count("data") >= 2)
    ended = here.up(*(() if works else IN_VAIN))
    assert "Traceback" not in ended.said, ended.said
    started, known = here.done("Bootstrap"), [one["id"] for one in here.etcd()]
    if states == ("empty",) * 3:
        assert ended.code == 0 and started == 1, ended.said
        one_etcd(here, CONTROL_PLANES)
        return
    assert started == 0, (states, ended.said)
    assert known in ([], [cluster.etcd]), (states, known)
    if works:
        assert ended.code == 0, (states, ended.said)
        one_etcd(here, CONTROL_PLANES)
        assert here.steps() == []
    elif "empty" in states:
        assert ended.code == 1, (states, ended.said)
        away = [name for name, state in zip(CONTROL_PLANES, states, strict=True) if state != "data"]
        assert any(name in ended.out for name in away), ended.said
    here.lab.clear_faults()
    has_quorum = states.count("empty") < 2
    again = here.up(*(() if has_quorum else IN_VAIN))
    assert (again.code == 0) == has_quorum, (states, again.said)
    assert here.done("Bootstrap") == 0
    assert [one["id"] for one in here.etcd()] in ([], [cluster.etcd])


@pytest.mark.parametrize("first", STATES)
@pytest.mark.parametrize(
    "others",
    [
        pytest.param(PAIRS, id="others"),
        pytest.param(SWAPPED, id="others-swapped", marks=pytest.mark.real),  # real for its length alone
    ],
)
def test_there_is_never_a_second_cluster(
    places: Callable[[], Here], first: str, others: list[tuple[str, str]]
) -> None:
    def those(some: list[tuple[str, str]]) -> None:
        cluster = Cluster(places())
        for second, third in some:
            examine(cluster, (first, second, third))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(those, (others[0::3], others[1::3], others[2::3])))


@pytest.mark.parametrize("fault", ["hang", "power-loss"])
def test_a_control_plane_that_the_inventory_no_longer_has_may_have_etcd(here: Here, fault: str) -> None:
    """It does not answer, and another one takes its place in the inventory: no second etcd is started beside it."""
    here.write(1, 0)
    assert here.up().code == 0
    (before,) = here.etcd()
    here.lab.add_fault(fault, ["cp-1"])
    here.write("[{name: cp-9}]", 0)
    ended = here.up("--confirm", "mine", *IN_VAIN)
    assert ended.code == 6 and "blocked: cp-1: etcd is not bootstrapped" in ended.said, ended.said
    assert "whether it has this cluster's etcd data is unknown" in ended.said
    assert here.done("Bootstrap") == 1 and [one["id"] for one in here.etcd()] == [before["id"]]
    assert sorted(here.machines()) == ["cp-1"]
