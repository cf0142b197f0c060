"""The provider of Proxmox VE keeps to the contracts of machines and resources, in front of the simulator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from talosmith.providers.proxmox.settings import Boot
from tests.provider_contract import CreatingProviderContract
from tests.resource_contract import ResourceContract
from tests.simulators.proxmox import Proxmox, serving
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness, disk_image

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pauses")]


class TestFromIso(CreatingProviderContract):
    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[ProxmoxHarness]:
        world = Proxmox()
        with serving(world) as server:
            harness = ProxmoxHarness(world, server, tmp_path)
            await harness.provider().create(harness.spec("cp-1"))
            yield harness


class TestResources(ResourceContract):
    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[ProxmoxHarness]:
        world = Proxmox()
        with serving(world) as server:
            yield ProxmoxHarness(world, server, tmp_path, Boot("template", disk_image(tmp_path)))
