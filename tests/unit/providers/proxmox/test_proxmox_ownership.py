"""Ownership of VMs on Proxmox VE: copies, foreign VMs and VMs without the cluster's tag are left alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.machine_specs import with_settings
from tests.provider_contract import refusal
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness
from tests.unit.providers.proxmox.proxmox_vms import CONFIG, KINDS, seeds, unchanged

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]


async def test_a_copy_of_our_machine_is_not_ours(harness: ProxmoxHarness) -> None:
    """A clone made by hand, or a restored backup, has tags and description of our machine, and another VMID."""
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    copied = harness.world.vms[3000].config | {"smbios1": "uuid=00000000-0000-4000-8000-000000000001"}
    for vmid in (700, 3001):
        harness.world.add_vm(vmid, "copy", **{name: value for name, value in copied.items() if name != "name"})
    untouched = [unchanged(harness, harness.world.vms[vmid]) for vmid in (700, 3001)]
    assert [one.id for one in await provider.find()] == [machine.id]
    for vmid in (700, 3001):
        pretended = replace(machine, id=f"{vmid}/00000000-0000-4000-8000-000000000001")
        await provider.destroy(pretended)
        await refusal(provider.power(pretended, on=False))
        await refusal(provider.resize(pretended, harness.spec("w-1")))
        await refusal(provider.forget_seed(pretended))
    assert "VMID 3001" in str(await refusal(provider.create(harness.spec("w-2"))))
    await provider.destroy(machine)
    assert all(one() for one in untouched) and 3000 not in harness.world.vms


async def test_a_vm_of_another_uuid_at_our_vmid_is_not_the_same_machine(harness: ProxmoxHarness) -> None:
    provider = harness.provider()
    old = await provider.create(harness.spec("w-1"))
    harness.world.vms[3000].config["smbios1"] = "uuid=00000000-0000-4000-8000-000000000001"  # restored from a backup
    await provider.destroy(old)
    await refusal(provider.power(old, on=False))
    assert harness.world.vms[3000].status == "running"


async def test_tags_of_the_user_survive(harness: ProxmoxHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    harness.world.vms[3000].config["tags"] += ";backup-daily"
    (found,) = await provider.find()
    assert found.outdated_running == ""
    harness.options = {"tags": ["prod"]}
    changed = await harness.provider().resize(machine, with_settings(harness.spec("w-1"), cpu=4))
    assert changed.outdated_running == ""
    tags = harness.world.vms[3000].tags.split(";")
    assert tags == ["backup-daily", "prod", "talosmith", "talosmith-0123456789abcdef", "worker"]


async def test_a_machine_whose_tag_was_removed_by_hand_is_given_up(harness: ProxmoxHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    await provider.forget_seed(machine)
    harness.world.vms[3000].config["tags"] = "mine"
    untouched = unchanged(harness, harness.world.vms[3000])
    assert await provider.find() == []
    await provider.destroy(machine)
    await refusal(provider.power(machine, on=False))
    refused = await refusal(provider.create(harness.spec("w-1")))
    assert "without the tag talosmith-0123456789abcdef" in str(refused) and untouched()


@pytest.mark.parametrize("kind", KINDS)
async def test_who_loses_the_race_for_a_vmid_changes_nothing(
    harness: ProxmoxHarness, kind: Callable[[ProxmoxHarness], None]
) -> None:
    """A VM that is not listed when we look, and exists when we create ours."""
    kind(harness)
    foreign = harness.world.add_vm(3000, "theirs")
    foreign.created = harness.world.now()
    harness.world.list_delay = 600.0
    untouched = unchanged(harness, foreign)
    refused = await refusal(harness.provider().create(harness.spec("w-1"), CONFIG))
    assert "VMID 3000 of w-1 is taken" in str(refused) and "theirs" in str(refused) and "`vmid`" in refused.hint
    harness.world.list_delay = 0.0
    provider = harness.provider()
    for machine in await provider.find():
        assert machine.unfinished and machine.name == "w-1"
        await provider.destroy(machine)
    assert untouched() and seeds(harness) == [], "a seed has secrets: it is found without its machine, too"


async def test_a_machine_of_another_node_at_our_vmid(harness: ProxmoxHarness) -> None:
    await harness.provider().create(harness.spec("w-1"))
    clash = with_settings(harness.spec("w-2"), vmid=3000)
    assert "the machine of node w-1" in str(await refusal(harness.provider().create(clash)))
