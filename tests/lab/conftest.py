"""The secrets of the cluster that most tests use, made once."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

import pytest

from tests.lab.lab_worlds import Configs, Lab


@pytest.fixture(scope="session")
def configs() -> Configs:
    return Configs()


@pytest.fixture
def lab(configs: Configs) -> Lab:
    return Lab(configs)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def network() -> str:
    """Addresses where nobody answers; another run of the tests may be under way on this computer."""
    while True:
        network = f"127.{random.randrange(100, 160)}.{random.randrange(240)}"  # noqa: S311
        with suppress(OSError), socket.socket() as probe:
            probe.bind((f"{network}.11", 50000))
            return f"{network}.0/24"
