"""A real API server with its controllers for the add-ons of this folder's tests, and the real Helm and kubectl."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.real.addons.real_addons import RealAddons, patient
from tests.real.helm.conftest import helm
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.conftest import unique
from tests.real.kube.fixtures import CONTROLLERS, attach_server

__all__ = ["helm", "unique"]

_MORE = ("clusterrole-aggregation-controller", "horizontal-pod-autoscaler-controller")


@pytest.fixture(scope="session")
def addon_server(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """Apart from the others: add-ons bring webhooks, aggregated APIs and definitions that concern everybody."""
    return attach_server(peer, tmp_path_factory.getbasetemp(), "kube-addons", (*CONTROLLERS, *_MORE))


@pytest.fixture
def alone() -> None:
    """For a test that restarts the server."""


@pytest.fixture
def in_use(addon_server: ApiServer, request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of several workers share the server, but for those that ask for `alone`."""
    handle = os.open(addon_server.kubeconfig.parent / "use", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if "alone" in request.fixturenames else fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


@pytest.fixture
async def addons(
    addon_server: ApiServer, in_use: None, tmp_path: Path, unique: str, peer: Callable[[str], Path]
) -> AsyncIterator[RealAddons]:
    async with patient(addon_server) as client:
        yield RealAddons(addon_server, client, tmp_path, unique, peer("kubectl"))
