"""A simulated Proxmox VE, a client of its API, and pauses that take no time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from talosmith.providers.proxmox import client as client_module
from talosmith.providers.proxmox import lookup, tasks
from talosmith.providers.proxmox.client import ProxmoxClient
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness, proxmox

pytest.register_assert_rewrite("tests.unit.providers.proxmox.proxmox_findings")


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two tries of reading."""
    monkeypatch.setattr(client_module, "_BETWEEN", 0.0)


@pytest.fixture
def short_pauses(no_pauses: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between two looks at tasks and machines."""
    for module in (tasks, lookup):
        monkeypatch.setattr(module, "_SOON", 0.005)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ProxmoxHarness]:
    with proxmox(tmp_path) as harness:
        yield harness


@pytest.fixture
async def client(harness: ProxmoxHarness) -> AsyncIterator[ProxmoxClient]:
    client = harness.client()
    yield client
    await client.close()
