"""The libvirt provider keeps to what every provider must, on a real libvirtd with real (halted) virtual machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from talosmith.model.providers import Libvirt
from talosmith.providers.libvirt.networks import Network
from tests.provider_contract import CreatingProviderContract
from tests.real.libvirt.daemon import Daemon
from tests.resource_contract import ResourceContract, delete_all
from tests.unit.providers.libvirt_harness import OWNER, LibvirtHarness


@pytest.fixture
def empty(daemon: Daemon, halting_image: Path, subnet: str) -> Iterator[LibvirtHarness]:
    """A host without anything."""
    section = Libvirt(
        uri=daemon.uri, pool="talos", pool_path=daemon.pool_path, network=f"net-{subnet}", autostart=False
    )
    network = Network(f"net-{subnet}", OWNER, "isolated", f"{subnet}.1", 24)
    made = LibvirtHarness(halting_image, section, subnet=subnet, disks_mib=(2, 1), ram_mib=32, network=network)
    yield made
    made.clear()


@pytest.fixture
async def harness(empty: LibvirtHarness) -> LibvirtHarness:
    await empty.stand()
    await empty.provider().create(empty.spec("cp-1", "controlplane"))
    return empty


class TestRealLibvirt(CreatingProviderContract):
    """All of it but the sixty machines that are made one after the other; those the test driver makes."""

    test_one_failure_in_ten_costs_half_as_many_calls_again_at_most = None  # type: ignore[assignment]

    async def test_destroyed_all_leaves_nothing(self, harness: LibvirtHarness) -> None:
        provider = harness.provider()
        await provider.create(harness.spec("w-1"))
        for machine in await provider.find():
            await provider.destroy(machine)
        await delete_all(provider, OWNER)
        connection = harness.connection
        assert not connection.listAllDomains()
        assert not [one.name() for one in connection.listAllStoragePools()]
        assert not [one.name() for one in connection.listAllNetworks()]
        assert not Path(harness.section.pool_path or "").exists()


class TestRealLibvirtResources(ResourceContract):
    @pytest.fixture
    def harness(self, empty: LibvirtHarness) -> LibvirtHarness:
        return empty
