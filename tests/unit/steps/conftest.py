"""Small worlds for steps, in which time passes as soon as nothing else is to be done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from talosmith import kube
from talosmith.kube import Credentials
from tests.clock import Clock
from tests.unit.steps.fake_kube import FakeKube
from tests.unit.steps.fake_world import AbleProvider, Provider, World

NewWorld = Callable[..., World]


@pytest.fixture
async def clock() -> AsyncIterator[Clock]:
    made = Clock()
    made.stop()

    async def pass_time() -> None:
        while True:
            await asyncio.sleep(0)
            made.forward(0.002)

    passing = asyncio.create_task(pass_time())
    yield made
    passing.cancel()
    with suppress(asyncio.CancelledError):
        await passing


@pytest.fixture
def new_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NewWorld:
    def make(controlplane: int = 1, workers: int = 0, provider: type[Provider] = AbleProvider) -> World:
        world = World(tmp_path, controlplane, workers, provider)

        def client(hosts: list[str], credentials: Credentials) -> FakeKube:
            return FakeKube(world, [world.at(host) for host in hosts], credentials)

        monkeypatch.setattr(kube, "KubeClient", client)  # which the context imports when it makes its first client
        return world

    return make
