"""The real API servers of a run, as fixtures for whoever holds something against them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.real.kube.apiserver import ApiServer, attach

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "disruption-controller",
    "certificatesigningrequest-signing-controller",
    "statefulset-controller",
    "job-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "endpointslice-controller",
)


@pytest.fixture(scope="session")
def kube_apiserver(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """Without any controllers: what should happen, the test does itself."""
    return attach_server(peer, tmp_path_factory.getbasetemp(), "kube-apiserver")


@pytest.fixture(scope="session")
def kube_controllers(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """Another one, with the controllers that make pods, watch over budgets, sign certificates and clean up."""
    return attach_server(peer, tmp_path_factory.getbasetemp(), "kube-controllers", CONTROLLERS)


def attach_server(peer: Callable[[str], Path], base: Path, name: str, controllers: Sequence[str] = ()) -> ApiServer:
    """The server of this name, one for all workers of a run."""
    for binary in ("etcd", "kube-apiserver", *(["kube-controller-manager"] if controllers else [])):
        peer(binary)
    # Workers of a run have folders next to each other; the run itself owns the server, which ends with it.
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    folder = (base.parent if is_worker else base) / name
    return attach(folder, os.getppid() if is_worker else os.getpid(), controllers)
