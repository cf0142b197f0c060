"""The libvirt provider keeps to what every provider must, on libvirt's own test driver."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from talosmith.model.providers import Libvirt
from talosmith.providers.contract import CreatingProviderContract
from talosmith.providers.libvirt.networks import Network
from talosmith.providers.resource_contract import ResourceContract
from tests.unit.providers.libvirt_harness import OWNER, TEST_DRIVER, LibvirtHarness

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("libvirt_library")]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(b"\xeb\x63 starts here".ljust(100_000, b"\0") + b"and ends here")
    return path


@pytest.fixture
async def harness(image: Path) -> AsyncIterator[LibvirtHarness]:
    made = LibvirtHarness(image)
    made.clear()
    await made.stand()
    await made.provider().create(made.spec("cp-1", "controlplane"))
    yield made
    made.clear()


class TestLibvirtProvider(CreatingProviderContract):
    """All of it, and what only libvirt's users do."""

    async def test_a_copy_of_a_machine_is_not_ours(self, harness: LibvirtHarness) -> None:
        (machine,) = await harness.provider().find()
        original = harness.connection.lookupByUUIDString(machine.id)
        text = original.XMLDesc(0).replace("<name>tested-cp-1", "<name>tested-copy")
        copy = harness.connection.defineXML(text.replace(f"<uuid>{machine.id}", f"<uuid>{uuid.UUID(int=9)}"))
        assert [one.id for one in await harness.provider().find()] == [machine.id]
        await harness.provider().destroy(replace(machine, id=copy.UUIDString()))
        assert copy.name() in [one.name() for one in harness.connection.listAllDomains()]

    async def test_a_machine_with_another_name_is_still_ours(self, harness: LibvirtHarness) -> None:
        (machine,) = await harness.provider().find()
        await harness.provider().power(machine, False)
        domain = harness.connection.lookupByUUIDString(machine.id)
        text = domain.XMLDesc(0).replace("<name>tested-cp-1", "<name>tested-my-machine")
        domain.undefine()
        harness.connection.defineXML(text)
        assert [one.name for one in await harness.provider().find()] == ["cp-1"]
        assert (await harness.provider().create(harness.spec("cp-1", "controlplane"))).id == machine.id


class TestLibvirtResources(ResourceContract):
    """A network, a pool and an image of the cluster's own."""

    @pytest.fixture
    async def harness(self, image: Path, tmp_path: Path) -> AsyncIterator[LibvirtHarness]:
        section = Libvirt(uri=TEST_DRIVER, pool="own-pool", pool_path=str(tmp_path / "pool"), network="own-network")
        made = LibvirtHarness(image, section, network=Network("own-network", OWNER, "nat", "192.0.2.1", 24))
        made.clear()
        yield made
        made.clear()
