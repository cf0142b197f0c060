"""Labs that the real `talosctl` talks to."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.real.lab.lab_cluster import LabCluster


def _made(peer: Callable[[str], Path], folder: Path, clock: str) -> LabCluster:
    network = _free_network()
    name = f"tc-{network.split('.')[1]}-{network.split('.')[2]}"
    return LabCluster(peer("talosctl"), folder, name, network, clock)


def _free_network() -> str:
    """Addresses where nobody answers; another run of the tests may be under way on this computer."""
    while True:
        network = f"127.{random.randrange(160, 250)}.{random.randrange(250)}"  # noqa: S311
        with suppress(OSError), socket.socket() as probe:
            probe.bind((f"{network}.10", 50000))
            return f"{network}.0/24"


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
