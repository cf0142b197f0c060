"""Labs that the real `talosctl` talks to."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.lab.lab_cluster import LabCluster

_numbers = itertools.count()


def _made(peer: Callable[[str], Path], folder: Path, clock: str) -> LabCluster:
    worker, number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")), next(_numbers)
    network = f"127.{160 + worker}.{number}.0/24"
    return LabCluster(peer("talosctl"), folder, f"tc-{worker}-{number}", network, clock)


@pytest.fixture(scope="module")
def machines(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabCluster]:
    """Five machines in maintenance mode."""
    lab = _made(peer, tmp_path_factory.mktemp("lab"), "fast")
    lab.start()
    yield lab
    lab.stop()


@pytest.fixture(scope="session")
def running(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabCluster]:
    """A cluster that is ready. Who breaks it mends it."""
    lab = _made(peer, tmp_path_factory.mktemp("lab"), "instant")
    lab.start()
    try:
        lab.apply_configs()
        lab.bootstrap()
        yield lab
    finally:
        lab.stop()
