"""A simulated cluster whose time stands still unless a test lets it pass, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulators.proxmox import Proxmox, serving
from tests.unit.simulators.pve_client import Client


@pytest.fixture
def world() -> Proxmox:
    world = Proxmox()
    world.freeze()
    return world


@pytest.fixture
def client(world: Proxmox) -> Iterator[Client]:
    with serving(world) as server:
        client = Client(world, server)
        yield client
        client.close()
