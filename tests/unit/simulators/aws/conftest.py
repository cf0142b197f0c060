"""A simulated AWS, empty before each test, whose time stands still unless a test lets it pass; and clients of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulators.aws import Cloud, Server, serving
from tests.unit.simulators.aws.aws_clients import Aws


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[Cloud, Server]]:
    cloud = Cloud()
    with serving(cloud) as server:
        yield cloud, server


@pytest.fixture
def aws(served: tuple[Cloud, Server]) -> Aws:
    cloud, server = served
    cloud.reset()
    cloud.clock.freeze()
    return Aws(cloud, server)
