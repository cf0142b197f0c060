"""The step that starts etcd: not before everybody has said that it has none, nor where somebody else was quicker."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from talosmith.errors import Permanent
from talosmith.steps.context import Context, RunOptions
from talosmith.steps.etcd import BootstrapEtcd
from talosmith.talos import Limits, TalosClient
from talosmith.waiting import limited
from talosmith_lab import joining, services
from tests.lab.observe_worlds import PATIENCE, LabWorld, desired_of, lab_world

pytestmark = pytest.mark.slow

STEP = BootstrapEtcd("cp-1")
NAMES = ("cp-1", "cp-2", "cp-3")
HASTY = Limits(connect_timeout=0.5, call_timeout=1.0)  # whoever does not answer is given up soon


def nothing(text: str, hint: str = "", *, phase: str = "") -> None:
    """Nobody listens."""


@pytest.fixture
async def world(tmp_path: Path, network: str) -> AsyncIterator[LabWorld]:
    async with lab_world(tmp_path, network, 1, 0) as made:
        made.create("cp-1")
        yield made


def context(
    world: LabWorld, folder: Path, before: Callable[[], None] = lambda: None, talos: TalosClient | None = None
) -> Context:
    """`before` happens when all were asked, and right before etcd is started."""
    return Context(
        desired=world.desired,
        provider=world.provider,
        talos=talos or world.talos,
        maintenance=world.maintenance,
        options=RunOptions(folder=folder),
        check_lock=before,
    )


def started_by_another(world: LabWorld, name: str = "cp-1", *, stopped: bool = False) -> Callable[[], None]:
    def start() -> None:
        machine = world.server.world.machines[name]
        joining.bootstrap(world.server.world, machine)
        if stopped:
            services.stop(world.server.world, machine, "etcd")
        world.server.engine.commit()

    return start


@pytest.fixture
async def three(tmp_path: Path, network: str) -> AsyncIterator[LabWorld]:
    """Three control planes, which know their config and wait."""
    async with lab_world(tmp_path, network, 3, 0) as made:
        made.create(*NAMES)
        await made.configure(*NAMES)
        await made.rest()
        yield made


@pytest.mark.parametrize(
    ("node", "fault"),
    [
        *((name, "refuse") for name in NAMES),
        *(("cp-3", fault) for fault in ("power-loss", "hang", "partition", "fail")),
    ],
)
async def test_one_that_has_not_said_is_enough_to_start_nothing(
    three: LabWorld, tmp_path: Path, node: str, fault: str
) -> None:
    three.control.add_fault(fault, machines=[node])
    begun: list[str] = []
    named = 0

    def hear(text: str, hint: str = "", *, phase: str = "") -> None:
        nonlocal named
        named += text.startswith(f"asking all control planes for etcd data: {node} (")
        if named == 2:  # it was asked again, too
            asking.end()

    async with TalosClient.from_bundle(three.desired.bundle, limits=HASTY) as hasty:
        asked = context(three, tmp_path, lambda: begun.append("it is about to be started"), hasty)
        async with asyncio.timeout(PATIENCE), limited(math.inf) as asking:
            await STEP.run(asked, hear)
    assert asking.over and not begun
    assert three.control.status()["etcd"] == []
    three.control.clear_faults()
    if fault == "power-loss":
        three.control.power_on([node])
    async with asyncio.timeout(PATIENCE):
        await STEP.run(context(three, tmp_path), nothing)
    (cluster,) = three.control.status()["etcd"]
    assert "cp-1" in cluster["members"]


@pytest.mark.parametrize("node", NAMES)
async def test_one_that_has_data_is_enough_to_start_nothing(three: LabWorld, tmp_path: Path, node: str) -> None:
    started_by_another(three, node, stopped=True)()
    (before,) = three.control.status()["etcd"]
    async with asyncio.timeout(PATIENCE):
        await STEP.run(context(three, tmp_path), nothing)
    (after,) = three.control.status()["etcd"]
    assert after["id"] == before["id"]
    assert three.control.calls().get("cp-1 Bootstrap") is None, "it was not even tried"


async def test_one_that_the_inventory_no_longer_has_is_asked_too(
    three: LabWorld, tmp_path: Path, network: str
) -> None:
    started_by_another(three, "cp-3", stopped=True)()
    (before,) = three.control.status()["etcd"]
    asked = context(three, tmp_path)
    asked.desired = desired_of(tmp_path / "smaller", network, 1, 0)
    asked.machines = {machine.name: machine for machine in await three.provider.find()}
    async with asyncio.timeout(PATIENCE):
        await STEP.run(asked, nothing)
    assert [one["id"] for one in three.control.status()["etcd"]] == [before["id"]]
    assert three.control.calls().get("cp-1 Bootstrap") is None, "it was not even tried"


async def test_who_was_quicker_has_done_it_if_it_is_this_clusters_etcd(
    world: LabWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("talosmith.steps.etcd._SOON", PATIENCE)
    await world.configure("cp-1")
    async with asyncio.timeout(PATIENCE):
        await STEP.run(context(world, tmp_path, started_by_another(world)), nothing)
    await world.rest()
    (cluster,) = world.control.status()["etcd"]
    assert cluster["members"] == {"cp-1": "voter"}
    assert await STEP.done(context(world, tmp_path))


async def test_data_without_a_member_is_not_taken_for_done(world: LabWorld, tmp_path: Path) -> None:
    await world.configure("cp-1")
    there = context(world, tmp_path, started_by_another(world, stopped=True))
    running = asyncio.create_task(STEP.run(there, nothing))

    def asked(method: str) -> int:
        return world.control.calls().get(f"cp-1 {method}", {"asked": 0})["asked"]

    await world.until(lambda: running.done() or asked("Bootstrap") == 1)
    looks = asked("ServiceList")
    await world.until(lambda: running.done() or asked("ServiceList") > looks + 5)
    assert not running.done(), "it was taken for done, although etcd does not run"
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert len(world.control.status()["etcd"]) == 1


async def test_another_clusters_node_starts_nothing(world: LabWorld, tmp_path: Path, network: str) -> None:
    theirs = desired_of(tmp_path / "theirs", network, 1, 0)
    await world.rest()
    node = world.maintenance.node(str(theirs.nodes["cp-1"].node.ip))
    await world.patiently(lambda: node.apply_config(theirs.nodes["cp-1"].config))
    await world.rest()
    assert world.stages() == {"booting"}
    with pytest.raises(Permanent, match="not signed by this cluster's CA"):
        async with asyncio.timeout(PATIENCE):
            await STEP.run(context(world, tmp_path), nothing)
    assert world.control.status()["etcd"] == []
