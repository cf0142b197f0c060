"""The step that applies the first machine config, where another run has applied it a moment before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from talosmith.errors import Permanent
from talosmith.steps.context import Context, RunOptions
from talosmith.steps.first_config import FirstConfig
from tests.lab.observe_worlds import PATIENCE, LabWorld, desired_of, lab_world

pytestmark = pytest.mark.slow

STEP = FirstConfig("cp-1")


@pytest.fixture
async def world(tmp_path: Path, network: str) -> AsyncIterator[LabWorld]:
    async with lab_world(tmp_path, network, 1, 0) as made:
        made.provider.creates = False
        made.create("cp-1")
        await made.rest()
        yield made


async def context(world: LabWorld, folder: Path) -> Context:
    """With the fingerprint that the machine shows now, in maintenance mode."""
    made = Context(
        desired=world.desired,
        provider=world.provider,
        talos=world.talos,
        maintenance=world.maintenance,
        options=RunOptions(folder=folder),
    )
    (machine,) = await world.provider.find()
    shown = world.control.list_machines("cp-1")[0]["fingerprint"]
    made.machines["cp-1"] = replace(machine, fingerprint=shown)
    return made


async def test_a_config_that_another_run_has_applied_is_not_applied_again(world: LabWorld, tmp_path: Path) -> None:
    told: list[str] = []
    before = await context(world, tmp_path)
    await world.configure("cp-1")
    await world.rest()
    await world.maintenance.forget(before.reach.talos("cp-1"))  # the other run's connection is not ours
    async with asyncio.timeout(PATIENCE):
        await STEP.run(before, lambda text, hint="", phase="": told.append(text))
    assert told[0] == "machine config was applied by another run or an earlier attempt"
    assert world.control.calls()["cp-1 ApplyConfiguration"]["done"] == 1
    assert await STEP.done(before)


async def test_another_run_may_be_quicker_at_any_moment(
    world: LabWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine is found in maintenance mode, and has its machine config a moment before it is to get it."""
    told: list[str] = []
    before = await context(world, tmp_path)

    async def meanwhile(*_: object) -> None:
        await world.configure("cp-1")
        await world.rest()
        await world.maintenance.forget(before.reach.talos("cp-1"))

    monkeypatch.setattr("talosmith.steps.first_config.check_install_disk", meanwhile)
    async with asyncio.timeout(PATIENCE):
        await STEP.run(before, lambda text, hint="", phase="": told.append(text))
    assert "machine config was applied by another run or an earlier attempt" in told
    assert world.control.calls()["cp-1 ApplyConfiguration"]["done"] == 1
    assert await STEP.done(before)


async def test_a_config_of_another_cluster_is_not_waited_for(world: LabWorld, tmp_path: Path, network: str) -> None:
    before = await context(world, tmp_path)
    theirs = desired_of(tmp_path / "theirs", network, 1, 0)
    node = world.maintenance.node(str(theirs.nodes["cp-1"].node.ip))
    await world.patiently(lambda: node.apply_config(theirs.nodes["cp-1"].config))
    await world.rest()
    await world.maintenance.forget(before.reach.talos("cp-1"))
    with pytest.raises(Permanent, match="not signed by this cluster's CA"):
        async with asyncio.timeout(PATIENCE):
            await STEP.run(before, lambda text, hint="", phase="": None)
    assert world.control.calls()["cp-1 ApplyConfiguration"]["done"] == 1
