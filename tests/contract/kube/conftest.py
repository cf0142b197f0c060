"""The two worlds that every case runs in: a real etcd and kube-apiserver, and the lab's Kubernetes API."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.contract.kube.kube_lab import lab_kubernetes
from tests.contract.kube.kube_world import KubeWorld
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.fixtures import kube_apiserver, kube_controllers

__all__ = ["kube_apiserver", "kube_controllers"]


@pytest.fixture(scope="session")
def real_world(kube_apiserver: ApiServer) -> Iterator[KubeWorld]:
    world = KubeWorld.of("real", kube_apiserver.address, kube_apiserver.bundle)
    yield world
    world.close()


@pytest.fixture(scope="session")
def lab_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeWorld]:
    with lab_kubernetes(tmp_path_factory.mktemp("kube-lab")) as (address, bundle):
        world = KubeWorld.of("lab", address, bundle)
        yield world
        world.close()


@pytest.fixture(params=["lab", "real"])
def world(request: pytest.FixtureRequest) -> KubeWorld:
    found: KubeWorld = request.getfixturevalue(f"{request.param}_world")
    return found


@pytest.fixture(scope="session")
def real_kept_world(kube_controllers: ApiServer) -> Iterator[KubeWorld]:
    world = KubeWorld.of("real", kube_controllers.address, kube_controllers.bundle)
    yield world
    world.close()


@pytest.fixture(params=["lab", "real"])
def kept_world(request: pytest.FixtureRequest) -> KubeWorld:
    """With controllers, but a scheduler and kubelets only in the lab: pods that nobody schedules are the same."""
    found: KubeWorld = request.getfixturevalue("lab_world" if request.param == "lab" else "real_kept_world")
    return found


@pytest.fixture
def unique() -> str:
    """A name that no other test has."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def space(world: KubeWorld, unique: str) -> str:
    """A namespace of the test's own."""
    world.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}}).ok()
    return unique


@pytest.fixture
def maps(space: str) -> str:
    """The path of the namespace's config maps."""
    return f"/api/v1/namespaces/{space}/configmaps"


@pytest.fixture
def pods(space: str) -> str:
    return f"/api/v1/namespaces/{space}/pods"


@pytest.fixture
def deployments(space: str) -> str:
    return f"/apis/apps/v1/namespaces/{space}/deployments"
