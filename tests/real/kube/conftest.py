"""Every test in this folder talks to a real etcd and kube-apiserver, one for the whole run."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from talosmith.kube import KubeClient
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.fixtures import kube_apiserver, kube_controllers
from tests.real.kube.patience import PATIENT

__all__ = ["kube_apiserver", "kube_controllers"]


@pytest.fixture
async def client(kube_apiserver: ApiServer) -> AsyncIterator[KubeClient]:
    async with KubeClient.from_bundle(kube_apiserver.bundle, [kube_apiserver.address], limits=PATIENT) as one:
        yield one


@pytest.fixture
def unique() -> str:
    """A name that no other test has."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
async def namespace(client: KubeClient, unique: str) -> str:
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}})
    return unique
