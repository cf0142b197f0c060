"""The contract of providers on a Proxmox VE server that the environment names; on the simulator if it names none.

    TALOSMITH_PROXMOX_URL=https://192.168.1.10:8006 TALOSMITH_PROXMOX_TOKEN='user@realm!name=secret' \\
    TALOSMITH_PROXMOX_FINGERPRINT=AA:BB:… TALOSMITH_PROXMOX_NODE=pve TALOSMITH_PROXMOX_DATASTORE=local-lvm \\
    TALOSMITH_PROXMOX_ISO=local:iso/talos.iso pytest tests/real/proxmox/test_proxmox_server.py

The token needs what `talosmith up` needs. Tests have one server for all of them, as a real one is: what a test leaves
behind is in the way of the next.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.provider_contract import CreatingProviderContract
from tests.real.proxmox.server_harness import VMIDS, Given, ServerHarness
from tests.simulators.proxmox import Proxmox, serving


@pytest.fixture(scope="module")
def given() -> Iterator[Given]:
    if real := Given.by_environment():
        yield real
        return
    world = Proxmox()
    world.add_volume("local:iso/talos.iso", content=b"boots")
    world.add_vm(100, "somebodys")
    with serving(world) as server:
        token = "=".join(world.tokens["root"])
        yield Given(server.url, token, server.fingerprint, "pve", "local", "local:iso/talos.iso")
    assert list(world.vms) == [100] and list(world.volumes) == ["local:iso/talos.iso"]


@pytest.fixture
async def harness(given: Given, tmp_path: Path) -> AsyncIterator[ServerHarness]:
    made = ServerHarness(given, tmp_path)
    await made.clear()
    await made.provider().create(made.spec("cp-1"))
    yield made
    await made.clear()
    await made.close()


class TestServer(CreatingProviderContract):
    """All of it but the sixty machines that are made one after the other; those the simulator makes in time."""

    test_one_failure_in_ten_costs_half_as_many_calls_again_at_most = None  # type: ignore[assignment]

    async def test_destroyed_all_leaves_nothing(self, harness: ServerHarness) -> None:
        provider = harness.provider()
        await provider.create(harness.spec("w-1"))
        for machine in await provider.find():
            await provider.destroy(machine)
        assert await harness.there() == [] and await harness.seeds() == []

    async def test_the_look_before_the_start_finds_nothing_wrong(self, harness: ServerHarness) -> None:
        findings = await harness.provider().preflight([harness.spec("w-1")])
        assert [one for one in findings if one.level == "error"] == []

    async def test_vmids_are_of_the_range(self, harness: ServerHarness) -> None:
        (machine,) = await harness.there()
        assert int(machine.id.partition("/")[0]) in VMIDS
