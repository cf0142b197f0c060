"""The last step of `up`: how long the cluster must stay healthy does not depend on how long the run has taken."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from talosmith.desired.target import Desired
from talosmith.observed import health
from talosmith.observed.health import Unhealthy
from talosmith.observed.round import Round
from talosmith.observed.verdicts import OK, Check, Verdict
from talosmith.providers.lab.provider import LabProvider
from talosmith.providers.libvirt.provider import LibvirtProvider
from talosmith.providers.metal.provider import MetalProvider
from talosmith.steps.cluster import Healthy
from talosmith.steps.context import Context, RunOptions
from talosmith.talos import MaintenanceClient, TalosClient
from tests.clock import Clock
from tests.lab.observe_worlds import desired_of

LIMIT = 600.0
HEALTHY, UNHEALTHY = 0.5, 1.0  # seconds, in turns


@pytest.fixture
def desired(tmp_path: Path) -> Desired:
    return desired_of(tmp_path, "127.99.98.0/24", 1, 0)


class Machines:
    """A provider, as far as this step asks it."""

    creates = False

    def __init__(self, *, simulated: bool) -> None:
        self.simulated = simulated


class Deaf:
    """A listener to nodes that say nothing."""

    changes = 0

    def __init__(self, *_: object) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def begin(self) -> None: ...

    async def listen(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Unasked(Round):
    """No node is there to be asked."""

    def begin(self) -> None: ...


def run_that_has_just_begun(desired: Desired, folder: Path, talos: TalosClient, *, simulated: bool) -> Context:
    return Context(
        desired=desired,
        provider=Machines(simulated=simulated),  # type: ignore[arg-type]
        talos=talos,
        maintenance=MaintenanceClient(),
        options=RunOptions(folder=folder),
    )


async def test_flapping_does_not_pass_in_a_run_that_has_just_begun(
    desired: Desired, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    began = clock.time()

    async def look(found: Round) -> Verdict:
        up = (clock.time() - began) % (HEALTHY + UNHEALTHY) < HEALTHY
        return OK if up else Verdict(False, "CrashLoopBackOff")

    check = Check("kubelet", "kubelet to be healthy", "kubelet is healthy", "kubelet is not healthy", look)
    monkeypatch.setattr(health, "conditions", lambda expected, kubernetes: [check])
    monkeypatch.setattr(health, "Listener", Deaf)
    monkeypatch.setattr(health, "Round", Unasked)
    async with TalosClient.from_bundle(desired.bundle) as talos:
        context = run_that_has_just_begun(desired, tmp_path, talos, simulated=False)
        with pytest.raises(Unhealthy, match="CrashLoopBackOff"):
            await Healthy(30.0).run(context, lambda text, hint="", phase="": None)


@pytest.mark.parametrize(("simulated", "seconds"), [(False, 2.0), (True, 0.03)])
async def test_only_simulated_machines_are_looked_at_in_quick_succession(
    desired: Desired, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulated: bool, seconds: float
) -> None:
    asked: dict[str, Any] = {}

    async def wait_healthy(*_: object, **options: Any) -> None:
        asked.update(options)

    monkeypatch.setattr("talosmith.observed.health.wait_healthy", wait_healthy)
    async with TalosClient.from_bundle(desired.bundle) as talos:
        context = run_that_has_just_begun(desired, tmp_path, talos, simulated=simulated)
        await Healthy(LIMIT).run(context, lambda text, hint="", phase="": None)
    assert (asked["between"], asked["limit"]) == (seconds, LIMIT)
    assert "steady" not in asked and health.STEADY == 3


def test_only_the_lab_is_simulated() -> None:
    assert [one.simulated for one in (LabProvider, LibvirtProvider, MetalProvider)] == [True, False, False]
