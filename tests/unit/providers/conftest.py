"""What tests of providers may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # moto takes seconds to import
    from tests.simulators.aws import Cloud, Server


@pytest.fixture(scope="session")
def libvirt_library() -> Any:
    """libvirt's own Python library, which is built against libvirt's headers: who asks for it is in the real tier."""
    return pytest.importorskip("libvirt", reason="libvirt-python is not installed: pip install 'talosmith[libvirt]'")


@pytest.fixture(scope="module")
def aws() -> Iterator[tuple[Cloud, Server]]:
    """The simulated AWS, and where it answers."""
    from tests.simulators.aws import Cloud, serving

    cloud = Cloud()
    with serving(cloud) as server:
        yield cloud, server


@pytest.fixture
def empty_aws(aws: tuple[Cloud, Server], monkeypatch: pytest.MonkeyPatch) -> tuple[Cloud, Server]:
    """With a hosted zone and nothing else; credentials and endpoint are in the environment."""
    from tests.unit.providers.aws_harness import without_pauses

    cloud, server = aws
    cloud.reset()
    cloud.add_hosted_zone("example.org")
    without_pauses(monkeypatch, server)
    return cloud, server
