"""Labs that the real `talosctl` talks to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from talosmith.errors import TalosmithError
from talosmith.model.versions import RECOMMENDED
from tests.loopback import free_network
from tests.real.lab.lab_cluster import LabCluster

OLD = "v1.13.9"


def _made(peer: Callable[[str], Path], folder: Path, clock: str, talos: str = RECOMMENDED.latest) -> LabCluster:
    """Machines with the `talosctl` of their version."""
    network = free_network()
    name = f"tc-{network.split('.')[1]}-{network.split('.')[2]}"
    tool = "talosctl-1.13" if talos == OLD else "talosctl"
    return LabCluster(peer(tool), folder, name, network, clock, talos)


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


@pytest.fixture(scope="session")
def shared_old(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    found = Shared(lambda: _made(peer, tmp_path_factory.mktemp("lab"), "instant", OLD))
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def running(shared: Shared) -> LabCluster:
    """A cluster that is ready, and that others use too."""
    return shared.well()


@pytest.fixture(params=["1.14", "1.13"])
def either(request: pytest.FixtureRequest) -> LabCluster:
    """A cluster of each version, with the `talosctl` of that version."""
    name = "shared" if request.param == "1.14" else "shared_old"
    found: Shared = request.getfixturevalue(name)
    return found.well()
