"""What tests of `up` and `destroy` start from: a warm parent for their processes, secrets, a cluster's folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.up import warm
from tests.lab.up.places import Here, Kit, warm_kit
from tests.loopback import free_network


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kit]:
    with warm_kit(tmp_path_factory.mktemp("kit"), warm.start) as made:
        yield made


@pytest.fixture
def places(kit: Kit, tmp_path: Path) -> Iterator[Callable[[], Here]]:
    """Makes clusters' folders, as many as are asked for."""
    with ExitStack() as made:

        def make() -> Here:
            here = Here(kit, Path(tempfile.mkdtemp(dir=tmp_path)), free_network())  # by several threads at once, too
            made.callback(here.end)
            return here

        yield make


@pytest.fixture
def here(places: Callable[[], Here]) -> Here:
    return places()
