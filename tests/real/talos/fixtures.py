"""Fixtures for tests with real Talos nodes; a `conftest.py` imports those that its tests use.

- `talos_lab`: the lab (`Lab`), one for the whole test run, all workers.
- `talos_nodes`: `talos_nodes(2)` gives two new nodes (`Node`) in maintenance mode that only this test has, with the
  newest Talos unless another release is given.
- `talos_cluster`: three control planes (`Cluster`) without Kubernetes, shared, at the test's disposal while it runs.

Where real nodes cannot run, the tests are skipped and say why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.real.talos.cluster import Cluster
from tests.real.talos.lab import Lab, LabUnavailable, Node
from tests.real.talos.releases import NEWEST, Release
from tests.real.talos.shared_cluster import borrow
from tools.peers import PeerUnavailable


class MakeNodes(Protocol):
    def __call__(self, count: int, release: Release = NEWEST) -> list[Node]: ...


@pytest.fixture(scope="session")
def talos_lab(peer: Callable[[str], Path]) -> Iterator[Lab]:
    peer("talosctl")
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    try:
        lab = Lab.attach(os.getppid() if is_worker else os.getpid())
    except (LabUnavailable, PeerUnavailable) as problem:
        pytest.skip(str(problem))
    yield lab
    if not is_worker:  # other workers may still need it; it ends with their parent
        lab.stop()


@pytest.fixture
def talos_nodes(talos_lab: Lab) -> Iterator[MakeNodes]:
    def make(count: int, release: Release = NEWEST) -> list[Node]:
        fresh = [talos_lab.create(release=release) for _ in range(count)]
        for node in fresh:
            made.callback(node.remove)
        for node in fresh:
            node.start()
        for node in fresh:
            node.wait_for_api()
        return fresh

    with ExitStack() as made:
        yield make


@pytest.fixture
def talos_cluster(talos_lab: Lab) -> Iterator[Cluster]:
    with borrow(talos_lab) as cluster:
        yield cluster
