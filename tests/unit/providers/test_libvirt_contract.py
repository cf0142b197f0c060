"""The libvirt provider keeps to what every provider must, on libvirt's own test driver."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from talosmith.model.providers import Libvirt
from talosmith.model.resources import ResourceSpec
from talosmith.providers.base import Known
from talosmith.providers.libvirt.networks import Network, render_network
from talosmith.providers.libvirt.storage import Pool, is_image, pool_uuid, render_pool
from tests.provider_contract import CreatingProviderContract
from tests.resource_contract import ResourceContract
from tests.unit.providers.libvirt_harness import OWNER, TEST_DRIVER, LibvirtHarness

pytestmark = pytest.mark.usefixtures("libvirt_library")


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

    async def test_what_a_killed_run_has_left_is_finished(self, harness: LibvirtHarness) -> None:
        """A network and a pool that were defined and not started; later a claim of an image that was not uploaded."""
        assert harness.network is not None
        connection, provider, known = harness.connection, harness.provider(), Known(resources={}, machines={})
        network, pool, image = provider.resources()
        connection.networkDefineXML(render_network(harness.network))
        defined = Pool(pool.name, "dir", harness.section.pool_path or "", uuid=pool_uuid(OWNER, pool.name))
        connection.storagePoolDefineXML(render_pool(defined))
        for spec in (network, pool):
            await self._finish(harness, spec, ["active: no → yes", "autostart: no → yes"])
        await provider.create_resource(image, known)
        (name,) = [name for name in harness.volumes() if is_image(name)]
        connection.storagePoolLookupByName(pool.name).storageVolLookupByName(name).delete()
        await self._finish(harness, image, ["uploaded: no → yes"])
        assert name in harness.volumes()

    async def _finish(self, harness: LibvirtHarness, spec: ResourceSpec, changes: list[str]) -> None:
        provider = harness.provider()
        (found,) = [one for one in await provider.find_resources() if one.key == spec.key]
        assert harness.owner.owns(found.tags), "known as ours, also while it is off"
        difference = provider.difference(found, spec)
        assert (difference.change, [str(one) for one in difference.settings]) == ("update", changes)
        mended = await provider.update_resource(found, spec, Known(resources={}, machines={}))
        assert provider.difference(mended, spec).change == "none"
