"""The secrets of the cluster that most tests use, made once."""

from __future__ import annotations

import itertools
import os

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


_used = itertools.count()


@pytest.fixture
def network() -> str:
    """Addresses that no other test uses, in this process or in another."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return f"127.{130 + worker}.{next(_used) % 240}.0/24"
