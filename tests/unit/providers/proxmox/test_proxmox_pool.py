"""A token with privileges on a pool alone: Proxmox VE answers 403 for all VMs outside of the pool."""

from __future__ import annotations

import asyncio

import pytest

from talosmith.errors import Temporary
from tests.provider_contract import refusal
from tests.unit.providers.proxmox.proxmox_harness import QEMU, ProxmoxHarness
from tests.unit.providers.proxmox.proxmox_vms import CONFIG

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]


@pytest.fixture
def pooled(harness: ProxmoxHarness) -> ProxmoxHarness:
    """Proxmox VE then answers 403 for each VM outside of the pool, whether there is one or not."""
    harness.world.add_pool("talos")
    paths = ("/pool/talos", "/storage", "/sdn")
    harness.world.add_token("talos@pve", "smith", dict.fromkeys(paths, "Administrator"))
    harness.token, harness.options = "smith", {"pool": "talos"}
    return harness


async def test_a_machine_that_is_gone_is_not_a_missing_privilege(pooled: ProxmoxHarness) -> None:
    provider = pooled.provider()
    machine = await provider.create(pooled.spec("w-1"), CONFIG)
    await provider.destroy(machine)
    await provider.destroy(machine)
    await refusal(provider.power(machine, on=True))
    assert not pooled.world.vms


async def test_a_create_in_a_pool_that_was_cut_off_is_finished(pooled: ProxmoxHarness) -> None:
    """Before the VM, and while Proxmox VE makes it: in the pool it is only at the end."""
    pooled.world.faults.lose_requests(1, "POST", QEMU)
    with pytest.raises(Temporary):
        await pooled.provider().create(pooled.spec("w-1"), CONFIG)
    (begun,) = await pooled.provider().find()
    assert begun.unfinished and begun.name == "w-1"
    pooled.world.freeze()
    pooled.world.faults.lose_answers(1, "POST", QEMU)
    with pytest.raises(Temporary):
        await asyncio.gather(pooled.provider().create(pooled.spec("w-1"), CONFIG))
    with pytest.raises(Temporary, match=r"already exists|can't lock file"):
        await pooled.provider().create(pooled.spec("w-1"), CONFIG)
    pooled.world.clock.thaw()
    pooled.world.settle()
    assert (await pooled.provider().create(pooled.spec("w-1"), CONFIG)).power == "on"
    assert list(pooled.world.vms) == [3000]
