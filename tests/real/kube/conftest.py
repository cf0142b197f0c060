"""Every test in this folder talks to a real etcd and kube-apiserver, one for the whole run."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from talosmith.kube import KubeClient
from tests.real.kube.apiserver import ApiServer, attach

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "disruption-controller",
    "certificatesigningrequest-signing-controller",
)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def kube_apiserver(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """Without any controllers: what should happen, the test does itself."""
    return _attach(peer, tmp_path_factory.getbasetemp(), "kube-apiserver")


@pytest.fixture(scope="session")
def kube_controllers(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """Another one, with the controllers that make pods, watch over budgets and sign certificates."""
    return _attach(peer, tmp_path_factory.getbasetemp(), "kube-controllers", CONTROLLERS)


def _attach(peer: Callable[[str], Path], base: Path, name: str, controllers: Sequence[str] = ()) -> ApiServer:
    for binary in ("etcd", "kube-apiserver", *(["kube-controller-manager"] if controllers else [])):
        peer(binary)
    # Workers of a run have folders next to each other; the run itself owns the server, which ends with it.
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    folder = (base.parent if is_worker else base) / name
    return attach(folder, os.getppid() if is_worker else os.getpid(), controllers)


@pytest.fixture
async def client(kube_apiserver: ApiServer) -> AsyncIterator[KubeClient]:
    async with KubeClient.from_bundle(kube_apiserver.bundle, [kube_apiserver.address]) as one:
        yield one


@pytest.fixture
def unique() -> str:
    """A name that no other test has."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
async def namespace(client: KubeClient, unique: str) -> str:
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}})
    return unique
