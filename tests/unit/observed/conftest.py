"""A cluster that exists on paper only; the tests run on asyncio, which is what the clients are for."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.desired.target import Desired
from tests.lab.observe_worlds import desired_of


@pytest.fixture(scope="session")
def desired(tmp_path_factory: pytest.TempPathFactory) -> Desired:
    """Three control planes and two workers."""
    folder: Path = tmp_path_factory.mktemp("inventory")
    return desired_of(folder, "127.99.99.0/24", 3, 2)
