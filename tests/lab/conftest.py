"""What tests of the lab start from: a cluster's secrets made once, a world, a network, a lab that serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.lab_worlds import OLD, Configs, Lab
from tests.loopback import free_network


@pytest.fixture(scope="session")
def configs() -> Configs:
    return Configs()


@pytest.fixture
def lab(configs: Configs) -> Lab:
    return Lab(configs)


@pytest.fixture
def old_lab(configs: Configs) -> Lab:
    """One of machines that run Talos 1.13, with configs in its form."""
    return Lab(replace(configs, talos=OLD))


@pytest.fixture
def network() -> str:
    return free_network()


@pytest.fixture
async def server(tmp_path: Path, network: str) -> AsyncIterator[LabServer]:
    """A lab that serves, in which nothing is yet."""
    async with LabServer(tmp_path, LabOptions(clock="instant", network=network, token="let-me-in")) as lab:
        yield lab
