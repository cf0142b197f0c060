"""The secrets of the cluster that most tests use, made once."""

from __future__ import annotations

import pytest

from tests.lab.lab_worlds import Configs, Lab


@pytest.fixture(scope="session")
def configs() -> Configs:
    return Configs()


@pytest.fixture
def lab(configs: Configs) -> Lab:
    return Lab(configs)
