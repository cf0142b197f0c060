"""What end-to-end tests of AWS start from: a warm parent, secrets, the labs' event loop, a simulated AWS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.lab.aws import warm_aws
from tests.lab.aws.sites import Computer, Region, region
from tests.lab.lab_loop import LabLoop
from tests.lab.up.places import Kit, warm_kit


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kit]:
    with warm_kit(tmp_path_factory.mktemp("kit"), warm_aws.start) as made:
        yield made


@pytest.fixture(scope="session")
def labs() -> Iterator[LabLoop]:
    thread = LabLoop()
    thread.start()
    yield thread
    thread.stop()


@pytest.fixture
def aws(labs: LabLoop) -> Iterator[Region]:
    with region(labs) as made:
        yield made


@pytest.fixture
def computers(kit: Kit, aws: Region, tmp_path: Path) -> Iterator[Callable[..., Computer]]:
    """Makes computers with an environment of the example, each in an account of its own unless one is given."""
    with ExitStack() as made:

        def make(environment: str = "sandbox", **options: Any) -> Computer:
            computer = Computer.make(kit, tmp_path, aws, environment, **options)
            made.callback(computer.end)
            return computer

        yield make
