"""Templates on a simulated Proxmox VE: made once, shared by clusters, and deleted by the last one that uses them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import Owner
from talosmith.model.resources import ResourceKey
from talosmith.providers.base import Known
from talosmith.providers.proxmox import ProxmoxProvider, tasks, templates
from talosmith.providers.proxmox.settings import Boot
from talosmith.providers.proxmox.templates import Template, Templates, template_name
from tests.machine_specs import with_settings
from tests.provider_contract import persist, refusal
from tests.simulators.proxmox import Proxmox
from tests.unit.providers.proxmox.proxmox_harness import OWNER, QEMU, ProxmoxHarness, disk_image, proxmox, spec_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]

IMAGE = "talos-v1.13.8"
NAME = "talos-talos-v1-13-8"
VOLUME = "local:import/talos.raw"
OTHER = Owner("other", "fedcba9876543210")
NOTHING = Known(resources={}, machines={})


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ProxmoxHarness]:
    with proxmox(tmp_path, boot=Boot("template", disk_image(tmp_path))) as harness:
        harness.world.list_lag = 0.0
        harness.world.add_volume(VOLUME, size=1024 * 1024, virtual=2 * 2**30)
        yield harness


def of(harness: ProxmoxHarness, owner: Owner = OWNER) -> Templates:
    return Templates(harness.client(), harness.settings(), owner)


async def made(harness: ProxmoxHarness, owner: Owner = OWNER, **how: Any) -> Template:
    return await persist(lambda: of(harness, owner).make(IMAGE, "pve", VOLUME, **how))


async def up(harness: ProxmoxHarness) -> ProxmoxProvider:
    """As far as machines could be cloned."""
    provider = harness.provider()
    for spec in provider.resources():
        await persist(lambda spec=spec: provider.create_resource(spec, NOTHING))  # type: ignore[misc]
    return provider


async def down(provider: ProxmoxProvider) -> None:
    for machine in await provider.find():
        await provider.destroy(machine)
    for resource in reversed(await provider.find_resources()):
        await provider.delete_resource(resource)


def of_world(world: Proxmox) -> list[int]:
    return sorted(vm.vmid for vm in world.vms.values() if vm.template)


async def test_a_template_has_talos_and_no_identity(harness: ProxmoxHarness) -> None:
    template = await made(harness)
    vm = harness.world.vms[template.vm.vmid]
    assert vm.template and vm.node == "pve" and vm.name == NAME and 9000 <= vm.vmid < 9500
    config = {name: str(value) for name, value in vm.config.items()}
    assert not [name for name in config if re.match(r"net|ide|ipconfig", name)], "which clones would inherit"
    assert config["tags"] == f"talosmith;talosmith-{OWNER.id};talosmith-template" and config["onboot"] == "0"
    assert "pre-enrolled-keys=0" in config["efidisk0"]
    hardware = {
        "bios": "ovmf", "machine": "q35", "scsihw": "virtio-scsi-pci", "cpu": "host", "balloon": "0",
        "serial0": "socket", "ostype": "l26", "boot": "order=scsi0",
    }  # fmt: skip
    assert {name: config[name] for name in hardware} == hardware
    disk = harness.world.volumes[config["scsi0"].partition(",")[0]]
    assert disk.is_base and disk.origin is harness.world.volumes[VOLUME]
    assert f"talosmith template image={IMAGE} storage=local vmid={vm.vmid}\n" in config["description"]
    assert (template.image, template.storage, template.kept, template.clusters) == (
        IMAGE,
        "local",
        False,
        (OWNER.id,),
    )


def test_names_are_those_of_dns() -> None:
    assert template_name("nocloud-amd64 v1.13.9 (1A2B)") == "talos-nocloud-amd64-v1-13-9-1a2b"
    assert len(template_name("x" * 99)) == 63 and not template_name(f"{'x' * 56}.y").endswith("-")


async def test_made_twice_is_made_once(harness: ProxmoxHarness) -> None:
    first, second = await made(harness), await made(harness, OTHER)
    assert first.vm.id == second.vm.id and of_world(harness.world) == [first.vm.vmid]
    found = await of(harness, OTHER).find(IMAGE, "pve")
    assert found is not None and found.vm.id == first.vm.id
    assert await of(harness).find("another-image", "pve") is None and await of(harness).find(IMAGE, "pve2") is None


async def test_two_runs_at_once_make_one(harness: ProxmoxHarness) -> None:
    harness.world.pace.durations["qmcreate"] = harness.world.pace.durations["qmtemplate"] = 10.0
    both = await asyncio.gather(*(made(harness, owner) for owner in (OWNER, OTHER, OWNER)))
    assert len({one.vm.id for one in both}) == 1 and len(harness.world.vms) == 1
    assert all(one.vm.is_template for one in both)


@pytest.mark.parametrize("lost", ["request", "answer"])
@pytest.mark.parametrize("at", [QEMU, f"{QEMU}/*/template"])
async def test_one_that_was_cut_off_is_finished(harness: ProxmoxHarness, lost: str, at: str) -> None:
    lose = harness.world.faults.lose_requests if lost == "request" else harness.world.faults.lose_answers
    lose(1, "POST", at)
    with pytest.raises(Temporary):
        await of(harness).make(IMAGE, "pve", VOLUME)
    left = list(harness.world.vms)
    template = await made(harness)
    assert template.vm.is_template and list(harness.world.vms) == [template.vm.vmid]
    assert left in ([], [template.vm.vmid])


async def test_vmids_that_are_taken_are_passed_over(harness: ProxmoxHarness, tmp_path: Path) -> None:
    first = (await made(harness)).vm.vmid
    await of(harness).delete(await made(harness))
    theirs = [harness.world.add_vm(vmid, f"theirs-{vmid}") for vmid in (first, first + 1)]
    spec = with_settings(spec_of("w-1"), vmid=first + 2)
    harness.nodes = {"w-1": spec}
    assert (await made(harness)).vm.vmid == first + 3, "nor is the VMID of a node, which is created later"
    assert all(vm.name.startswith("theirs-") and not vm.template for vm in theirs)


async def test_a_vmid_of_a_vm_that_the_token_may_not_see_is_passed_over(harness: ProxmoxHarness) -> None:
    first = (await made(harness)).vm.vmid
    await of(harness).delete(await made(harness))
    harness.world.add_pool("talos")
    harness.world.add_vm(first, "secret")
    paths = ("/pool/talos", "/storage", "/sdn")
    harness.world.add_token("talos@pve", "smith", dict.fromkeys(paths, "Administrator"))
    harness.token, harness.options = "smith", {"pool": "talos"}
    template = await of(harness).make(IMAGE, "pve", VOLUME)
    assert template.vm.vmid == first + 1


async def test_no_vmid_at_all(harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "_MOST", 3)
    first = (await made(harness)).vm.vmid
    await of(harness).delete(await made(harness))
    for vmid in range(first, first + 3):
        harness.world.add_vm(vmid, f"theirs-{vmid}")
    refused = await refusal(of(harness).make(IMAGE, "pve", VOLUME))
    assert f"VMIDs {first} to {first + 2} are taken" in str(refused) and "vmid_base.templates" in refused.hint


async def test_a_vm_of_the_same_name_that_is_not_ours(harness: ProxmoxHarness) -> None:
    """Also if it is a template: what is in it is not known."""
    theirs = harness.world.add_vm(500, NAME, template=1)
    before = repr(theirs)
    refused = await refusal(of(harness).make(IMAGE, "pve", VOLUME))
    assert "VM 500" in str(refused) and NAME in str(refused) and "`proxmox.template: 500`" in refused.hint
    assert repr(theirs) == before and list(harness.world.vms) == [500]


async def test_a_copy_of_a_template_is_none_of_ours(harness: ProxmoxHarness) -> None:
    """A clone that somebody has made by hand has the line of the template, and another VMID."""
    template = await made(harness)
    copied = {name: value for name, value in harness.world.vms[template.vm.vmid].config.items() if name != "name"}
    harness.world.add_vm(700, "copy", **copied)
    assert [one.vm.vmid for one in await of(harness).listed()] == [template.vm.vmid]


# By name


async def test_an_existing_template_by_name_or_vmid(harness: ProxmoxHarness) -> None:
    harness.world.add_vm(900, "golden", template=1, scsi0="local:900/base-900-disk-0.raw,size=2G")
    for name in ("golden", "900"):
        assert (await of(harness).named(name, "pve")).vmid == 900
    harness.world.add_vm(901, "plain", scsi0="local:901/vm-901-disk-0.raw,size=2G")
    assert "VM 901 (plain) is not a template" in str(await refusal(of(harness).named("plain", "pve")))
    assert "'nosuch'" in str(await refusal(of(harness).named("nosuch", "pve")))
    harness.world.add_vm(902, "ide-only", template=1, ide0="local:902/base-902-disk-0.raw,size=2G")
    assert "no SCSI disk" in str(await refusal(of(harness).named("ide-only", "pve")))


async def test_the_template_of_the_same_host_goes_before(tmp_path: Path) -> None:
    world = Proxmox(nodes=("pve", "pve2"))
    world.list_lag = 0.0
    for vmid, node in ((900, "pve"), (901, "pve2")):
        world.add_vm(vmid, "golden", node=node, template=1, scsi0=f"local:{vmid}/base-{vmid}-disk-0.raw,size=2G")
    world.add_vm(800, "golden", node="pve2")
    with proxmox(tmp_path, world) as harness:
        assert [(await of(harness).named("golden", host)).vmid for host in ("pve", "pve2")] == [900, 901]


# Shared


async def test_a_cluster_puts_its_tag_on_it_and_removes_no_other(harness: ProxmoxHarness) -> None:
    template = await made(harness)
    harness.world.vms[template.vm.vmid].config["tags"] += ";mine"
    ours = await of(harness).use(await made(harness), by=True)
    both = await of(harness, OTHER).use(ours, by=True)
    assert set(both.clusters) == {OWNER.id, OTHER.id} and "mine" in both.vm.tags
    harness.world.calls.clear()
    await of(harness).use(both, by=True)
    assert not harness.changes(), "it is there already"
    theirs = await of(harness).use(both, by=False)
    assert theirs.clusters == (OTHER.id,) and "mine" in theirs.vm.tags


async def test_two_clusters_at_once_lose_no_tag(harness: ProxmoxHarness) -> None:
    """The second change is refused, for it was decided on tags without the first one's."""
    template = await made(harness, kept=True)
    assert template.clusters == (), "its creator's"
    await of(harness).use(template, by=True)
    with pytest.raises(Temporary, match="file change by other user"):
        await of(harness, OTHER).use(template, by=True)
    again = await of(harness, OTHER).use(await made(harness, OTHER), by=True)
    assert set(again.clusters) == {OWNER.id, OTHER.id}


async def test_the_last_cluster_deletes_it(harness: ProxmoxHarness) -> None:
    others = replace(harness, owner=OTHER)
    ours, theirs = await up(harness), await up(others)
    assert len(of_world(harness.world)) == 1
    found = {one.key.kind: one for one in await ours.find_resources()}
    assert found["template"].used_by == found["image"].used_by == (f"cluster {OTHER.id}",)
    await down(ours)
    assert len(of_world(harness.world)) == 1 and await ours.find_resources() == []
    (left,) = harness.world.vms.values()
    assert OWNER.id not in left.tags and OTHER.id in left.tags
    assert any(one.startswith("local:import/talosmith-image-") for one in harness.world.volumes), "nor the image"
    await down(theirs)
    assert not harness.world.vms and not [one for one in harness.world.volumes if "talosmith" in one]


async def test_one_that_the_user_has_created_stays(harness: ProxmoxHarness) -> None:
    (shown,) = await harness.provider().create_template()
    (vm,) = harness.world.vms.values()
    assert vm.template and "kept=1" in str(vm.config["description"])
    provider = await up(harness)
    assert len(harness.world.vms) == 1, "it is used, and no other made"
    (template,) = [one for one in await provider.find_resources() if one.key.kind == "template"]
    assert template.used_by == ("its creator",)
    await down(provider)
    assert list(harness.world.vms.values()) == [vm] and OWNER.id not in vm.tags
    (listed,) = await provider.templates()
    assert listed.id == shown.id
    await provider.delete_template(listed)
    assert not harness.world.vms
    await provider.delete_template(listed)


async def test_linked_clones_keep_a_template_from_being_deleted(harness: ProxmoxHarness) -> None:
    harness.options = {"clone": "linked"}
    provider = await up(harness)
    machine = await provider.create(harness.spec("w-1"))
    (template,) = [one for one in await provider.find_resources() if one.key.kind == "template"]
    with pytest.raises(Temporary, match="in use by w-1"):
        await provider.delete_resource(template)
    (vm,) = [vm for vm in harness.world.vms.values() if vm.template]
    upid = await provider.client.post(f"{QEMU}/{vm.vmid}/clone", newid=700, name="theirs", full=0)
    await tasks.follow(provider.client, upid, "clone by hand")
    await provider.destroy(machine)
    (template,) = [one for one in await provider.find_resources() if one.key.kind == "template"]
    assert template.used_by and "700" in str(template.used_by)
    await provider.delete_resource(template)
    assert vm.vmid in harness.world.vms and OWNER.id not in vm.tags, "given up, but not deleted"
    refused = await refusal(of(harness).delete((await of(harness).listed())[0]))
    assert "linked clone" in str(refused) and "delete them first" in refused.hint


async def test_a_template_that_was_deleted_meanwhile(harness: ProxmoxHarness) -> None:
    provider = await up(harness)
    (template,) = await of(harness).listed()
    await of(harness).delete(template)
    await of(harness).delete(template)
    assert "no template of" in str(await refusal(provider.create(harness.spec("w-1"))))
    with pytest.raises((Temporary, Permanent)):
        await of(harness).use(template, by=True)
    assert [one.key.kind for one in await provider.find_resources()] == ["image"]
    wanted = {spec.key: spec for spec in provider.resources()}
    key = ResourceKey("template", f"{template.image}@pve")
    assert (await provider.create_resource(wanted[key], NOTHING)).key == key
    assert (await provider.create(harness.spec("w-1"))).name == "w-1"


async def test_a_template_that_a_killed_run_began_is_waited_for_and_found(tmp_path: Path) -> None:
    """It has neither tag nor description until its task ends: `destroy` would delete the image alone, and wait."""
    with proxmox(tmp_path, boot=Boot("template", disk_image(tmp_path))) as harness:
        killed, next_run = harness.provider(), harness.provider()
        image, template = killed.resources()
        known = Known(resources={}, machines={})
        await killed.create_resource(image, known)
        harness.world.freeze()
        began = asyncio.create_task(killed.create_resource(template, known))
        while not any(vm.lock == "create" for vm in harness.world.vms.values()):
            await asyncio.sleep(0.01)
        began.cancel()
        await asyncio.gather(began, return_exceptions=True)
        finding = asyncio.create_task(next_run.find_resources())
        assert not (await asyncio.wait([finding], timeout=0.2))[0]
        harness.world.settle()
        assert {one.kind for one in await finding} == {"image", "template"}
