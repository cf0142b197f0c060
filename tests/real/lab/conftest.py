"""Labs that the real `talosctl` talks to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from talosmith.errors import TalosmithError
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
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()


@dataclass
class Shared:
    """One cluster for many tests. Who breaks it mends it; after one that could not, the others get a new one."""

    make: Callable[[], LabCluster]
    lab: LabCluster | None = None

    def well(self) -> LabCluster:
        if self.lab is not None:
            try:
                self.lab.wait("everybody", self.lab.is_well)
            except (AssertionError, TalosmithError):
                self.stop()
        if self.lab is None:
            self.lab = self.make()
            self.lab.start()
            self.lab.apply_configs()
            self.lab.bootstrap()
        return self.lab

    def stop(self) -> None:
        if self.lab is not None:
            lab, self.lab = self.lab, None
            lab.stop()


@pytest.fixture(scope="session")
def shared(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    found = Shared(lambda: _made(peer, tmp_path_factory.mktemp("lab"), "instant"))
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def running(shared: Shared) -> LabCluster:
    """A cluster that is ready, and that others use too."""
    return shared.well()
