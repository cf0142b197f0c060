"""The world on disk: the same after a restart, and never half-written, whenever the lab is killed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import Permanent
from talosmith_lab import configure, joining, lifecycle, settle, store
from talosmith_lab.faults import Fault
from talosmith_lab.store import Store
from talosmith_lab.world import World
from tests.lab.lab_worlds import NEW, Configs, Lab


def picture(world: World) -> dict[str, Any]:
    """All that a world is, for comparison."""
    return {
        "machines": {name: asdict(machine) for name, machine in sorted(world.machines.items())},
        "clusters": {uid: asdict(cluster) for uid, cluster in world.clusters.items()},
        "faults": {identity: asdict(fault) for identity, fault in world.faults.items()},
        "others": (world.counter, world.vip_holders, world.seed, world.pace.name, str(world.subnet)),
        "texts": world.texts,
    }


def without_dirt(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_dirt(inner) for key, inner in value.items() if key != "dirty"}
    return [without_dirt(one) for one in value] if isinstance(value, list | tuple) else value


def reopened(path: Path, lab: Lab) -> tuple[Store, World]:
    again = Store(path)
    return again, again.load(lab.clock)


@pytest.fixture
def busy(configs: Configs) -> Lab:
    """A world in the middle of things: a member down, a fault, a node being installed."""
    lab = Lab(configs, "realistic")
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3", "w-1")
    cluster.write(next(iter(cluster.members.values())), lab.world, lambda kv: kv.put("k", b"\x00\xff"))
    lifecycle.power_off(lab.world, lab.machine("cp-2"))
    lab.world.faults["f1"] = Fault(id="f1", kind="slow", machines=["w-1"], seconds=2, times=3)
    lab.create("w-2")
    configure.apply(lab.world, lab.machine("w-2"), configs.text("worker", "w-2"), "AUTO")
    lab.run(10)
    return lab


def test_a_world_is_read_back_as_it_was(busy: Lab, tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    Store(path).save(busy.world)
    _, world = reopened(path, busy)
    assert without_dirt(picture(world)) == without_dirt(picture(busy.world))
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_was_under_way_goes_on(busy: Lab, tmp_path: Path) -> None:
    assert busy.machine("w-2").run.installing == "installing"  # type: ignore[union-attr]
    Store(tmp_path / "world.db").save(busy.world)
    _, world = reopened(tmp_path / "world.db", busy)
    settle.resume(world)
    settle.run(world, busy.clock)
    run = world.machines["w-2"].run
    assert run is not None and run.stage == "running" and run.ready
    lifecycle.power_on(world, world.machines["cp-2"])
    settle.run(world, busy.clock)
    assert world.machines["cp-2"].run.ready  # type: ignore[union-attr]
    (cluster,) = world.clusters.values()
    assert cluster.behind == {} and cluster.store.get("k").value == b"\x00\xff"  # type: ignore[union-attr]


def test_only_what_changed_is_written(busy: Lab, tmp_path: Path) -> None:
    statements: list[str] = []

    def connect(path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(path)
        connection.set_trace_callback(statements.append)
        return connection

    kept = Store(tmp_path / "world.db", connect)
    kept.save(busy.world)
    statements.clear()
    kept.save(busy.world)
    assert not [one for one in statements if "INSERT" in one]
    lifecycle.power_off(busy.world, busy.machine("w-1"))
    settle.settle(busy.world)
    statements.clear()
    kept.save(busy.world)
    assert len([one for one in statements if "INTO machine" in one]) == 1


def test_records_are_of_this_boot(configs: Configs, tmp_path: Path) -> None:
    lab = Lab(configs)
    kept = Store(tmp_path / "world.db")
    lab.create("w-1")
    kept.save(lab.world)
    machine = lab.machine("w-1")
    first = kept.records("w-1", machine.boots, "kernel")
    assert any(f"Talos {NEW}" in record.text for _, record in first)
    assert kept.records("w-1", machine.boots, "kernel", after=first[-1][0]) == []
    for _ in range(2):
        lifecycle.power_cycle(lab.world, machine)
        lab.run()
        kept.save(lab.world)
    assert kept.records("w-1", 1, "kernel") == [], "logs do not outlive two boots"
    assert set(kept.sources("w-1", machine.boots)) >= {"kernel", "events", "apid"}


def test_another_format_is_refused(tmp_path: Path) -> None:
    kept, _ = store.create(tmp_path / "w.db", seed=1, pace="fast", subnet="127.77.0.0/16", now=lambda: 0.0)
    kept._db.execute("UPDATE fact SET value = '99' WHERE name = 'format'")
    kept.close()
    with pytest.raises(Permanent, match="another version"):
        Store(tmp_path / "w.db").load(lambda: 0.0)


KILLED = """
import os, sqlite3, sys
from pathlib import Path
from talosmith_lab import store
from tests.lab.test_lab_store import story

class Deadly(sqlite3.Connection):
    left = int(sys.argv[2])

    def execute(self, *arguments):
        Deadly.left -= 1
        if Deadly.left == 0:
            os.kill(os.getpid(), 9)
        return super().execute(*arguments)

kept = store.Store(Path(sys.argv[1]), lambda path: sqlite3.connect(path, factory=Deadly))
for step, world in enumerate(story()):
    kept.save(world)
    print(step, flush=True)
"""


def story() -> Any:
    """A short history with one save after each step; always the same."""
    lab = Lab(Configs(bundle=None), seed=3)  # type: ignore[arg-type]
    yield lab.world
    lab.create("a", "b")
    yield lab.world
    lab.world.faults["f"] = Fault(id="f", kind="hang", machines=["a"])
    lifecycle.power_off(lab.world, lab.machine("b"))
    lab.run()
    yield lab.world


@pytest.mark.slow
def test_killed_at_any_write_it_is_as_before_or_as_after(tmp_path: Path) -> None:
    """Each statement once: the process is killed there, and what is left is one of the worlds that were saved."""
    pictures = []
    for world in story():
        world.records.clear()
        pictures.append(without_dirt(picture(world)))
    nothing = None
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    at, seen = 4, set()  # after the pragmas and the schema
    while True:
        path = tmp_path / f"{at}.db"
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(at)], capture_output=True, text=True, env=environment
        )
        saved = len(done.stdout.split())
        kept = Store(path)
        found = without_dirt(picture(kept.load(lambda: 0.0))) if kept.exists() else nothing
        kept.close()
        if found is nothing:
            assert saved == 0
        else:
            index = pictures.index(found)
            assert index in (saved - 1, saved), "neither the world that was last saved nor the next"
            seen.add(index)
        if done.returncode == 0:
            break
        assert done.returncode == -9, done.stderr
        at += 3
    assert seen == {0, 1, 2}


def test_a_second_cluster_is_forgotten_with_its_data(configs: Configs, tmp_path: Path) -> None:
    lab = Lab(configs)
    kept = Store(tmp_path / "w.db")
    cluster = lab.cluster_of("cp-1")
    kept.save(lab.world)
    joining.forget(lab.world, lab.machine("cp-1"))
    lab.run()
    kept.save(lab.world)
    assert kept._db.execute("SELECT count(*) FROM entry WHERE owner = ?", (cluster.uid,)).fetchone()[0] == 0
    _, world = reopened(tmp_path / "w.db", lab)
    assert world.clusters == {}
