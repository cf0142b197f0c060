"""Labs that the real `talosctl` talks to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.loopback import free_network
from tests.real.lab.lab_cluster import LabCluster


def _made(peer: Callable[[str], Path], folder: Path, clock: str) -> LabCluster:
    network = free_network()
    name = f"tc-{network.split('.')[1]}-{network.split('.')[2]}"
    return LabCluster(peer("talosctl"), folder, name, network, clock)


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
