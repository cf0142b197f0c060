"""The libvirt provider keeps to what every provider must, on libvirt's own test driver."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from talosmith.providers.contract import CreatingProviderContract
from tests.unit.providers.libvirt_harness import LibvirtHarness

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
