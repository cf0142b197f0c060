"""What end-to-end tests of Proxmox VE start from: a warm parent, secrets, the labs' event loop, sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from talosmith.model.versions import RECOMMENDED
from tests.lab.lab_loop import LabLoop
from tests.lab.proxmox import warm_proxmox
from tests.lab.proxmox.sites import Computer, Site, site
from tests.lab.up.places import Kit, warm_kit
from tests.simulators.proxmox.certificate import certificate

TALOS = RECOMMENDED.latest  # that the examples pin


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kit]:
    with warm_kit(tmp_path_factory.mktemp("kit"), warm_proxmox.start) as made:
        yield made


@pytest.fixture(scope="session")
def labs() -> Iterator[LabLoop]:
    certificate()  # of all simulators of this process: not made by two threads at once
    thread = LabLoop()
    thread.start()
    yield thread
    thread.stop()


@pytest.fixture
def computers(kit: Kit, labs: LabLoop, tmp_path: Path) -> Iterator[Callable[..., Computer]]:
    """Makes computers with the inventory of an example: at a site (`at`), or with one of their own (`pace`)."""
    with ExitStack() as made:

        def make(example: str = "proxmox", *, at: Site | None = None, token: str = "", **options: Any) -> Computer:
            own = ExitStack()
            if at is None:
                at = own.enter_context(site(labs, version=TALOS, **options))
            computer = Computer.make(kit, tmp_path, at, example, token)
            computer.closing = own
            made.callback(computer.end)
            return computer

        yield make
