"""A real libvirtd with QEMU for these tests, started once for each worker, and what they start from."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from talosmith.providers.libvirt.connection import libvirt
from tests.real.libvirt.daemon import Daemon, running_daemon
from tests.real.libvirt.guest_image import guest_image
from tests.real.libvirt.halting import HALTS
from tools.peers import PeerUnavailable
from tools.peers.libvirt_recipes import prepare

pytest.register_assert_rewrite("tests.real.libvirt.places")


@pytest.fixture(scope="session")
def daemon() -> Iterator[Daemon]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a libvirtd of the test's own needs root on Linux")
    try:
        prepare()
    except PeerUnavailable as problem:
        pytest.skip(str(problem))
    pytest.importorskip("libvirt", reason="libvirt-python is not installed: pip install 'talosmith[libvirt]'")
    with running_daemon() as daemon:
        yield daemon


@pytest.fixture(scope="session")
def guest(daemon: Daemon) -> Path:
    return guest_image()


@pytest.fixture
def halting_image(tmp_path: Path) -> Path:
    image = tmp_path / "halts.raw"
    image.write_bytes(HALTS.ljust(64 * 1024, b"\0"))
    return image


@pytest.fixture(autouse=True)
def nothing_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test that failed has left is not in the way of the next; what must not be left the tests say."""
    if "daemon" not in request.fixturenames:
        yield
        return
    from tests.unit.providers.libvirt_harness import clear  # after its assertions are made to tell

    daemon: Daemon = request.getfixturevalue("daemon")
    yield
    clear(libvirt().open(daemon.uri))


_numbers = itertools.count(1)


@pytest.fixture
def subnet() -> str:
    """The first three parts of a network that no other test has; the daemon's networks are its own."""
    return f"10.200.{next(_numbers)}"
