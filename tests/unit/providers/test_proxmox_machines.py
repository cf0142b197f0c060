"""Machines on a simulated Proxmox VE: how they come to be, are changed, found, and deleted; what is left alone."""

from __future__ import annotations

import asyncio
import hashlib
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import Machine, MachineSpec
from talosmith.model.secret import Secret
from talosmith.model.services import Image
from talosmith.providers.proxmox import addresses, client, lanes, lookup, making, options, tasks
from talosmith.providers.proxmox import provider as provider_module
from talosmith.providers.proxmox.lookup import Lookup
from talosmith.providers.proxmox.settings import Boot
from talosmith.tasks import in_thread
from tests.loopback import free_network
from tests.machine_specs import with_settings
from tests.provider_contract import persist, refusal
from tests.simulators.proxmox import VM, HaResource, Proxmox
from tests.simulators.proxmox.faults import Rule
from tests.unit.providers.proxmox_harness import ISO, OWNER, ProxmoxHarness, proxmox, spec_of
from tests.waiting import comes_true

pytestmark = pytest.mark.slow

QEMU = "/nodes/pve/qemu"
IMAGE = "local:import/talos.raw"
SEED = re.compile(r"local:iso/talosmith-0123456789abcdef-seed-([a-z0-9-]+)-[0-9a-f]{16}\.iso")
CONFIG = Secret("machine: {}")
LINK = "virtio=52:54:00:00:00:65"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_BETWEEN", 0.0)
    for module in (tasks, lookup):
        monkeypatch.setattr(module, "_SOON", 0.005)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ProxmoxHarness]:
    with proxmox(tmp_path) as harness:
        yield harness


def from_iso(harness: ProxmoxHarness) -> None:
    harness.boot = Boot("iso", volume=ISO)


def from_image(harness: ProxmoxHarness) -> None:
    """Of 2 GiB, so that the machine's disk is grown."""
    harness.world.add_volume(IMAGE, size=1024 * 1024, virtual=2 * 2**30)
    harness.boot = Boot("image", volume=IMAGE)


def from_template(harness: ProxmoxHarness) -> None:
    """One that two other clusters use, too, with values of its own in all that a machine has."""
    for number, size in ((0, 2 * 2**30), (1, 528 * 1024)):
        harness.world.add_volume(f"local:900/base-900-disk-{number}.raw", size=4096, virtual=size, vmid=900)
    harness.world.add_vm(
        900, "golden", tags="golden;talosmith;talosmith-fedcba9876543210;talosmith-template", template=1,
        description="talosmith template image=x storage=local vmid=900\n", bios="ovmf", machine="q35", cores=1,
        memory="1024", cpu="x86-64-v2-AES", onboot=0, boot="order=scsi0", scsihw="virtio-scsi-pci",
        efidisk0="local:900/base-900-disk-1.raw,efitype=4m,pre-enrolled-keys=0,size=528K",
        scsi0="local:900/base-900-disk-0.raw,size=2G", net0="virtio=02:00:00:00:00:01,bridge=vmbr0,firewall=1",
    )  # fmt: skip
    harness.boot = Boot("template", template="golden")


def linked(harness: ProxmoxHarness) -> None:
    from_template(harness)
    harness.options = {**harness.options, "clone": "linked"}


KINDS = [from_iso, from_image, from_template]


def config_of(harness: ProxmoxHarness, vmid: int) -> dict[str, Any]:
    """Without what Proxmox VE makes up."""
    config = harness.world.vms[vmid].config
    return {name: str(value) for name, value in config.items() if name not in ("vmgenid", "meta")}


def seeds(harness: ProxmoxHarness) -> list[str]:
    """The nodes that there are seeds of."""
    return sorted(found[1] for volume in harness.world.volumes if (found := SEED.fullmatch(volume)))


def unchanged(harness: ProxmoxHarness, vm: VM) -> Callable[[], bool]:
    before = repr(vm)
    return lambda: repr(vm) == before and harness.world.vms.get(vm.vmid) is vm


# What is created


async def test_a_machine_from_an_iso_has_exactly_these_options(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"), CONFIG)
    config = config_of(harness, 3000)
    uuid = machine.id.partition("/")[2]
    (seed,) = [volume for volume in harness.world.volumes if SEED.fullmatch(volume)]
    description = config.pop("description")
    assert config == {
        "name": "w-1",
        "ostype": "l26",
        "machine": "q35",
        "bios": "ovmf",
        "efidisk0": "local:3000/vm-3000-disk-0.raw,efitype=4m,pre-enrolled-keys=0,size=528K",
        "scsihw": "virtio-scsi-pci",
        "scsi0": "local:3000/vm-3000-disk-1.raw,discard=on,size=10G,ssd=1",
        "scsi1": "local:3000/vm-3000-disk-2.raw,discard=on,size=5G,ssd=1",
        "cores": "3",
        "sockets": "1",
        "memory": "3072",
        "balloon": "0",
        "cpu": "host",
        "serial0": "socket",
        "agent": "enabled=0",
        "net0": "virtio=52:54:00:00:00:65,bridge=vmbr0",
        "onboot": "1",
        "boot": "order=scsi0;ide0",
        "tags": "talosmith;talosmith-0123456789abcdef;worker",
        "smbios1": f"uuid={uuid}",
        "ide0": f"{ISO},media=cdrom,size={config['ide0'].partition('size=')[2]}",
        "ide2": f"{seed},media=cdrom,size={config['ide2'].partition('size=')[2]}",
    }
    line = "cluster=tested id=0123456789abcdef node=w-1 role=worker vmid=3000 address=127.99.99.101"
    assert f"\ntalosmith machine {line}\n" in description and "unfinished" not in description
    assert b"machine: {}" in harness.world.volume_bytes(seed), "the seed has the config"
    assert (machine.power, machine.seeded, machine.unfinished, machine.outdated) == ("on", True, False, "")
    assert harness.world.vms[3000].status == "running"


async def test_options_of_the_inventory(harness: ProxmoxHarness) -> None:
    harness.world.add_pool("talos")
    harness.options = {
        "pool": "talos", "vlan": 20, "start_order": 5, "autostart": False, "cpu_type": "x86-64-v3", "tags": ["prod"],
        "scsi_controller": "virtio-scsi-single", "bridge": "vmbr1",
    }  # fmt: skip
    harness.world.add_bridge("vmbr1")
    await harness.provider().create(harness.spec("w-1"))
    await harness.provider().create(harness.spec("cp-1"))
    config = config_of(harness, 3000)
    assert harness.world.pools["talos"].vms == {2000, 3000}
    assert config["net0"] == "virtio=52:54:00:00:00:65,bridge=vmbr1,tag=20"
    assert (config["onboot"], config["cpu"], config["scsihw"]) == ("0", "x86-64-v3", "virtio-scsi-single")
    assert config["tags"] == "prod;talosmith;talosmith-0123456789abcdef;worker"
    assert (config["startup"], config_of(harness, 2000)["startup"]) == ("order=6", "order=5"), "workers come next"


@pytest.mark.parametrize(
    ("options", "has", "has_not"),
    [
        ({"firmware": "bios"}, {"bios": "seabios"}, ("efidisk0", "tpmstate0")),
        ({"tpm": True}, {"bios": "ovmf", "tpmstate0": "local:3000/vm-3000-disk-3.raw,size=4M,version=v2.0"}, ()),
    ],
)
async def test_firmware_and_tpm(
    harness: ProxmoxHarness, options: dict[str, Any], has: dict[str, str], has_not: tuple[str, ...]
) -> None:
    harness.options = options
    await harness.provider().create(harness.spec("w-1"))
    config = config_of(harness, 3000)
    assert {name: config[name] for name in has} == has and not set(has_not) & set(config)
    if "efidisk0" in config:
        assert "pre-enrolled-keys=0" in config["efidisk0"], "Microsoft's keys keep Talos from enrolling its own"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_guest_agent_is_expected_only_where_the_image_has_it(
    harness: ProxmoxHarness, kind: Callable[[ProxmoxHarness], None]
) -> None:
    """Where it is expected and missing, each shutdown hangs until it times out."""
    kind(harness)
    image = Image(extensions=["siderolabs/qemu-guest-agent"])
    with_agent = with_settings(spec_of("w-1"), image=image)
    harness.nodes = {**harness.nodes, "w-1": with_agent}
    await harness.provider().create(with_agent)
    await harness.provider().create(harness.spec("w-2"))
    assert [config_of(harness, vmid)["agent"] for vmid in (3000, 3001)] == ["enabled=1", "enabled=0"]


async def test_a_machine_from_an_image_has_the_image_on_a_disk_of_its_size(harness: ProxmoxHarness) -> None:
    from_image(harness)
    machine = await harness.provider().create(harness.spec("w-1"))
    config = config_of(harness, 3000)
    assert machine.disks_mib == (10240, 5120) and not machine.unfinished
    assert "size=10G" in config["scsi0"] and "size=5G" in config["scsi1"] and "discard=on" in config["scsi0"]
    disk = harness.world.volumes[config["scsi0"].partition(",")[0]]
    assert disk.origin is harness.world.volumes[IMAGE] and disk.virtual_size == 10 * 2**30
    assert "ide0" not in config and config["boot"] == "order=scsi0"
    assert "unfinished" not in config["description"]


@pytest.mark.parametrize("kind", [from_template, linked])
async def test_a_clone_has_nothing_of_its_template_but_the_disk(
    harness: ProxmoxHarness, kind: Callable[[ProxmoxHarness], None]
) -> None:
    kind(harness)
    await in_thread(lambda: harness.world.add_pool("talos"))
    harness.options = {**harness.options, "pool": "talos"}
    template = unchanged(harness, harness.world.vms[900])
    machine = await harness.provider().create(harness.spec("w-1"))
    config = config_of(harness, 3000)
    assert (machine.cpu, machine.ram_mib, machine.disks_mib) == (3, 3072, (10240, 5120))
    assert config["tags"].split(";") == ["golden", "talosmith", "talosmith-0123456789abcdef", "worker"]
    assert "talosmith machine " in config["description"] and "template" not in config["description"]
    assert config["net0"] == "virtio=52:54:00:00:00:65,bridge=vmbr0"
    assert (config["cpu"], config["onboot"], config["name"]) == ("host", "1", "w-1")
    assert machine.seeded and seeds(harness) == ["w-1"] and harness.world.pools["talos"].vms == {3000}
    disk = harness.world.volumes[config["scsi0"].partition(",")[0]]
    assert (disk.parent is None) == (kind is from_template), "linked or not"
    assert template()


async def test_a_disk_that_is_smaller_than_the_image_is_refused(harness: ProxmoxHarness) -> None:
    from_image(harness)
    refused = await refusal(harness.provider().create(with_settings(harness.spec("w-1"), disks_mib=(1024,))))
    assert "1024 MiB" in str(refused) and "2048 MiB" in str(refused) and "`disk`" in refused.hint


async def test_two_hosts(tmp_path: Path) -> None:
    world = Proxmox(nodes=("pve", "pve2"))
    world.add_volume(ISO, content=b"boots", node="pve2")
    there = with_settings(spec_of("w-2"), host="pve2")
    nodes = {"w-1": spec_of("w-1"), "w-2": there}
    with proxmox(tmp_path, world, nodes=nodes, options={"node": None, "hosts": ["pve", "pve2"]}) as harness:
        provider = harness.provider()
        for spec in nodes.values():
            await provider.create(spec, CONFIG)
        assert [world.vms[vmid].node for vmid in (3000, 3001)] == ["pve", "pve2"]
        (seed,) = [one for one in world.volumes.values() if "seed-w-2" in one.volid]
        assert seed.node == "pve2", "a seed is where its machine is"
        for machine in await provider.find():
            assert await provider.forget_seed(machine)
            await provider.destroy(machine)
        assert not world.vms and not seeds(harness)


# Cut off


class AtChange(Rule):
    """Strikes at the n-th call that changes something."""

    left: int
    struck: Callable[[], None]

    def matches(self, method: str, path: str) -> bool:
        if method == "GET":
            return False
        self.left -= 1
        if self.left == 0:
            self.struck()
        return self.left == 0


def strike(harness: ProxmoxHarness, number: int, how: str, task: asyncio.Task[Any]) -> AtChange:
    loop = asyncio.get_running_loop()
    rule = AtChange({"request": "before", "answer": "after"}.get(how, "slow"), 1)  # type: ignore[arg-type]
    rule.left = number
    rule.struck = (lambda: loop.call_soon_threadsafe(task.cancel)) if how == "kill" else lambda: None  # type: ignore[assignment]
    harness.world.faults.rules.append(rule)
    return rule


def shape(harness: ProxmoxHarness, vmid: int) -> str:
    """The config, without what differs between any two machines."""
    text = repr(sorted(config_of(harness, vmid).items()))
    for pattern in (
        r"uuid=[0-9a-f-]+",
        rf"\b{vmid}\b",
        r"\bw-\d+\b",
        r"52:54:[0-9A-F:]+",
        r"127\.99\.99\.\d+",
        r"-[0-9a-f]{16}\.iso",
    ):
        text = re.sub(pattern, "…", text)
    text = text.replace("order=scsi0;ide2", "order=scsi0")  # Proxmox VE appends CD drives as they are set
    return re.sub(r"disk-\d+", "disk", text)


@pytest.mark.parametrize("how", ["request", "answer", "kill"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_create_that_was_cut_off_anywhere_is_finished_by_the_next(
    harness: ProxmoxHarness, kind: Callable[[ProxmoxHarness], None], how: str
) -> None:
    """Each time at another change: the request is lost, its answer, or the process that sent it."""
    kind(harness)
    world = harness.world
    await harness.provider().create(harness.spec("w-30"), CONFIG)
    whole = shape(harness, 3029)
    for number in range(1, 20):
        spec = harness.spec(f"w-{number}")
        vmid = spec.node.vmid or 0
        task = asyncio.create_task(harness.provider().create(spec, CONFIG))
        rule = strike(harness, number, how, task)
        outcome = await asyncio.gather(task, return_exceptions=True)
        if rule.left > 0:
            assert number > 3 and isinstance(outcome[0], Machine), "there was nothing to strike at"
            break
        assert isinstance(outcome[0], Temporary | asyncio.CancelledError), outcome
        world.faults.clear()
        world.settle()
        left = world.vms.get(vmid)
        uuid = left.config.get("smbios1") if left is not None else None
        listed = [one for one in await harness.provider().find() if one.name == spec.name]
        there = left is not None or spec.name in seeds(harness)
        assert [one.id.partition("/")[0] for one in listed] == ([str(vmid)] if there else [])
        made = await persist(lambda spec=spec: harness.provider().create(spec, CONFIG))  # type: ignore[misc]
        assert uuid in (None, world.vms[vmid].config["smbios1"]), "the same VM"
        assert shape(harness, vmid) == whole and made.power == "on" and not made.unfinished
        assert seeds(harness).count(spec.name) == 1
    else:
        raise AssertionError("it never came to its end")


@pytest.mark.parametrize("kind", [from_image, from_template])
async def test_what_was_cut_off_is_found_and_deleted(
    harness: ProxmoxHarness, kind: Callable[[ProxmoxHarness], None]
) -> None:
    kind(harness)
    before = sorted(harness.world.volumes)
    for number in range(1, 10):
        spec = harness.spec(f"w-{number}")
        task = asyncio.create_task(harness.provider().create(spec, CONFIG))
        rule = strike(harness, number, "request", task)
        await asyncio.gather(task, return_exceptions=True)
        harness.world.faults.clear()
        if rule.left > 0:
            break
    provider = harness.provider()
    found = await provider.find()
    assert len(found) >= 3 and any(one.unfinished for one in found)
    for machine in found:
        await provider.destroy(machine)
    assert [vm for vm in harness.world.vms if vm != 900] == []
    left = {*harness.world.volumes} - {*before}
    assert all(SEED.fullmatch(one) for one in left), "disks were left"
    begun = {one.name for one in found}
    assert not begun & {*seeds(harness)}, "seeds were left"


async def test_a_vm_in_the_making_is_unfinished_and_left_alone_until_its_task_ends(harness: ProxmoxHarness) -> None:
    from_image(harness)
    world = harness.world
    await harness.provider().create(harness.spec("w-2"))  # the seed's upload needs no time below
    world.pace.durations["qmcreate"] = 10_000.0
    creating = asyncio.create_task(harness.provider().create(harness.spec("w-1")))

    async def begun() -> str:
        return "" if 3000 in world.vms else "no VM yet"

    await comes_true(begun)
    world.freeze()
    creating.cancel()  # as a run that was killed; Proxmox VE goes on
    (machine,) = [one for one in await harness.provider().find() if one.name == "w-1"]
    assert machine.unfinished and machine.role == "worker" and machine.tags == OWNER.tags("w-1", "worker")
    world.calls.clear()
    deleting = asyncio.create_task(harness.provider().destroy(machine))

    async def looked() -> str:
        return "" if len(world.calls) > 8 else f"{len(world.calls)} looks"

    await comes_true(looked)
    assert not deleting.done() and not harness.changes()
    world.clock.thaw()
    world.pass_time(100.0)
    await deleting
    assert 3000 not in world.vms and seeds(harness) == ["w-2"]


async def test_a_vm_that_somebody_else_is_making_with_our_vmid_is_not_ours(tmp_path: Path) -> None:
    world = Proxmox()
    with proxmox(tmp_path, world) as harness:
        world.add_token("talos@pve", "smith", {"/": "Administrator"}, privsep=False)
        world.pace.durations["qmcreate"] = 10_000.0
        world.freeze()
        other = replace(harness, token="smith").client()
        await other.post(QEMU, vmid=3000, name="theirs")
        await other.close()
        assert await harness.provider().find() == []
        world.settle()
        assert "theirs" in str(await refusal(harness.provider().create(harness.spec("w-1"))))


async def test_a_lock_that_a_dead_task_left_is_told_with_the_way_out(
    harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "Lookup", partial(Lookup, abandoned_after=0.02))
    monkeypatch.setattr(making, "_IN_THE_MAKING", 5.0)  # in which a task that works would be waited for
    harness.world.faults.kill_tasks(1, "qmcreate")
    with pytest.raises(Temporary, match="unexpected status"):
        await harness.provider().create(harness.spec("w-1"))
    assert harness.world.vms[3000].lock == "create"
    refused = await refusal(harness.provider().create(harness.spec("w-1")))
    assert "'create'" in str(refused) and "VM 3000 on pve" in str(refused)
    assert "`qm unlock 3000 && qm destroy 3000`" in refused.hint
    assert harness.changes().count(("POST", QEMU)) == 1


# Whose it is


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


# Changing


async def resized(harness: ProxmoxHarness, machine: Machine, spec: MachineSpec) -> tuple[Machine, list[str]]:
    """And the tasks that it took."""
    before = list(harness.world.tasks.all)
    changed = await harness.provider().resize(machine, spec)
    (found,) = await harness.provider().find()
    assert found == changed, "as the next plan sees it"
    return changed, [task.type for upid, task in harness.world.tasks.all.items() if upid not in before]


async def test_cpu_and_memory_change_with_a_restart(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    changed, done = await resized(harness, machine, with_settings(harness.spec("w-1"), cpu=4, ram_mib=4096))
    assert (changed.id, changed.cpu, changed.ram_mib, changed.power) == (machine.id, 4, 4096, "on")
    assert done == ["qmshutdown", "qmstart"]
    assert not harness.world.vms[3000].pending
    again, done = await resized(harness, changed, with_settings(harness.spec("w-1"), cpu=4, ram_mib=4096))
    assert (again, done) == (changed, [])


async def test_a_guest_that_does_not_shut_down_is_switched_off_in_the_end(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    harness.world.vms[3000].obeys_shutdown = False
    changed, done = await resized(harness, machine, with_settings(harness.spec("w-1"), cpu=4))
    assert (changed.cpu, changed.power, done) == (4, "on", ["qmshutdown", "qmstart"])


async def test_values_that_wait_for_the_next_start_are_not_what_a_machine_has(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    vm = harness.world.vms[3000]
    vm.pending = {"memory": "4096", "cores": 8}
    (found,) = await harness.provider().find()
    assert (found.cpu, found.ram_mib) == (3, 3072)
    changed, _ = await resized(harness, machine, with_settings(harness.spec("w-1"), ram_mib=4096))
    assert (changed.cpu, changed.ram_mib) == (3, 4096) and not vm.pending, "eight cores are not in the inventory"


async def test_a_disk_grows_while_the_machine_runs(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    changed, done = await resized(harness, machine, with_settings(harness.spec("w-1"), disks_mib=(20480, 6000)))
    assert changed.disks_mib == (20480, 6000) and done == ["resize", "resize"]


async def test_a_disk_is_added(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    changed, done = await resized(harness, machine, with_settings(harness.spec("w-1"), disks_mib=(10240, 5120, 5121)))
    assert changed.disks_mib == (10240, 5120, 5121) and done == ["qmshutdown", "qmstart"]
    assert "scsi2" in harness.world.vms[3000].config


@pytest.mark.parametrize("disks", [(8192, 5120), (10240,)])
async def test_a_disk_never_shrinks(harness: ProxmoxHarness, disks: tuple[int, ...]) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    untouched = unchanged(harness, harness.world.vms[3000])
    await refusal(provider.resize(machine, with_settings(harness.spec("w-1"), disks_mib=disks, cpu=4)))
    assert untouched(), "nothing else was changed before"


async def test_a_storage_that_rounds_up_makes_no_difference(harness: ProxmoxHarness) -> None:
    """LVM has extents of 4 MiB."""
    spec = with_settings(harness.spec("w-1"), disks_mib=(10241,))
    harness.nodes = {**harness.nodes, "w-1": spec}
    machine = await harness.provider().create(spec)
    vm = harness.world.vms[3000]
    vm.config["scsi0"] = re.sub("size=[^,]*", "size=10244M", vm.config["scsi0"])
    (found,) = await harness.provider().find()
    assert found.disks_mib == (10241,)
    _, done = await resized(harness, machine, spec)
    assert done == []


@pytest.mark.parametrize(
    ("options", "differs", "key", "value"),
    [
        ({"bridge": "vmbr1"}, "network from bridge vmbr0 to bridge vmbr1", "net0", f"{LINK},bridge=vmbr1"),
        ({"vlan": 7}, "network from bridge vmbr0 to bridge vmbr0 VLAN 7", "net0", f"{LINK},bridge=vmbr0,tag=7"),
        ({"tags": ["prod"]}, "prod", "tags", "prod;talosmith;talosmith-0123456789abcdef;worker"),
        ({"autostart": False}, "autostart from on to off", "onboot", "0"),
        ({"start_order": 2}, "start order from none to order=3", "startup", "order=3"),
    ],
)  # fmt: skip
async def test_what_changes_while_the_machine_runs(
    harness: ProxmoxHarness, options: dict[str, Any], differs: str, key: str, value: str
) -> None:
    harness.world.add_bridge("vmbr1")
    machine = await harness.provider().create(harness.spec("w-1"))
    harness.options = options
    (found,) = await harness.provider().find()
    assert differs in found.outdated_running and found.outdated == ""
    changed, done = await resized(harness, machine, harness.spec("w-1"))
    assert changed.outdated_running == "" and done == [], "no restart"
    assert config_of(harness, 3000)[key] == value and not harness.world.vms[3000].pending


async def test_a_change_that_was_decided_on_an_old_config_is_not_made(harness: ProxmoxHarness) -> None:
    """The user changes the VM between our look and our change."""
    machine = await harness.provider().create(harness.spec("w-1"))
    config = harness.world.vms[3000].config
    rule = AtChange("slow", 1)
    rule.left = 1
    rule.struck = lambda: config.update(net0=f"{LINK},bridge=vmbr0,tag=99")
    harness.world.faults.rules.append(rule)
    harness.options = {"tags": ["prod"], "vlan": 7}
    with pytest.raises(Temporary, match="file change by other user"):
        await harness.provider().resize(machine, harness.spec("w-1"))
    assert "tag=99" in config["net0"] and "prod" not in config["tags"]
    changed = await harness.provider().resize(machine, harness.spec("w-1"))
    assert changed.outdated_running == "" and "tag=7" in config["net0"]


async def test_another_mac_address_or_cpu_type_needs_a_restart(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"))
    other = with_settings(harness.spec("w-1"), mac="52:54:00:00:99:99")
    harness.nodes = {**harness.nodes, "w-1": other}
    harness.options = {"cpu_type": "x86-64-v3"}
    (found,) = await harness.provider().find()
    assert "MAC address from 52:54:00:00:00:65 to 52:54:00:00:99:99" in found.outdated
    assert "CPU type from host to x86-64-v3" in found.outdated
    changed, done = await resized(harness, machine, other)
    assert changed.outdated == "" and done == ["qmshutdown", "qmstart"]


# Power


async def test_power_is_switched_only_where_it_must_be(harness: ProxmoxHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    harness.world.calls.clear()
    for on in (True, False, False, True, True):
        await provider.power(machine, on)
    actions = [path.rpartition("/")[2] for _, path in harness.changes()]
    assert actions == ["stop", "start"]


@pytest.mark.parametrize("on", [True, False])
async def test_another_run_that_was_faster_is_no_error(
    harness: ProxmoxHarness, on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine is in the wanted state between our look and our call: the task fails, and all is well."""
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    await provider.power(machine, not on)
    real = Lookup.power
    looks: list[str] = []

    async def faster(self: Lookup, host: str, vmid: int) -> Any:
        seen = await real(self, host, vmid)
        if not looks:
            looks.append(seen)
            await harness.provider().power(machine, on)
        return seen

    monkeypatch.setattr(Lookup, "power", faster)
    await provider.power(machine, on)
    assert harness.world.vms[3000].status == ("running" if on else "stopped")


async def test_high_availability_does_it_later(harness: ProxmoxHarness) -> None:
    """The task ends when the wish is noted; the machine is off, or on, only some time after that."""
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    harness.world.ha["vm:3000"] = HaResource("vm:3000")
    await provider.power(machine, on=False)
    assert harness.world.vms[3000].status == "stopped"
    await provider.power(machine, on=True)
    assert harness.world.vms[3000].status == "running"
    await provider.destroy(machine)
    assert not harness.world.vms and not harness.world.ha


async def test_a_machine_that_high_availability_has_moved(tmp_path: Path) -> None:
    world = Proxmox(nodes=("pve", "pve2"))
    for storage in world.storages.values():
        storage.shared = True
    with proxmox(tmp_path, world) as harness:
        provider = harness.provider()
        machine = await provider.create(harness.spec("w-1"), CONFIG)
        world.ha["vm:3000"] = HaResource("vm:3000")
        world.vms[3000].node = "pve2"
        (found,) = await provider.find()
        assert found.id == machine.id and found.power == "on"
        await provider.power(machine, on=False)
        await provider.power(machine, on=True)
        assert (await provider.create(harness.spec("w-1"))).id == machine.id, "no twin where it was"
        changed = await provider.resize(machine, with_settings(harness.spec("w-1"), cpu=4))
        assert changed.cpu == 4 and await provider.forget_seed(machine)
        await provider.destroy(machine)
        assert not world.vms and not seeds(harness)
        assert [volume for volume in world.volumes if "3000" in volume] == []


# Deleting


async def test_a_protected_vm_is_not_touched(harness: ProxmoxHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"), CONFIG)
    harness.world.vms[3000].config["protection"] = 1
    untouched = unchanged(harness, harness.world.vms[3000])
    refused = await refusal(provider.destroy(machine))
    assert "protect" in str(refused) and "Protection" in refused.hint
    assert untouched() and seeds(harness) == ["w-1"], "it runs, and has its seed"


async def test_a_machine_that_does_not_shut_down_is_deleted_all_the_same(harness: ProxmoxHarness) -> None:
    """Also while a shutdown by somebody else waits for it, with the lock of the VM."""
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    harness.world.vms[3000].obeys_shutdown = False
    await provider.client.post(f"{QEMU}/3000/status/shutdown", timeout=1_000_000)
    await provider.destroy(machine)
    assert not harness.world.vms and ("POST", f"{QEMU}/3000/status/stop") in harness.changes()


async def test_a_machine_that_an_earlier_run_is_deleting(harness: ProxmoxHarness) -> None:
    """That run was killed; its task goes on, and the VM is gone while we switch it off."""
    world = harness.world
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    await provider.power(machine, on=False)
    world.freeze()
    await provider.client.delete(f"{QEMU}/3000", purge=1)
    deleting = asyncio.create_task(provider.destroy(machine))

    async def stopping() -> str:
        return "" if [task for task in world.tasks.active() if task.type == "qmstop"] else "no such task yet"

    await comes_true(stopping)
    world.clock.thaw()
    await deleting
    assert not world.vms and seeds(harness) == []


async def test_disks_that_are_not_in_use_go_with_the_machine(harness: ProxmoxHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    world = harness.world
    world.add_volume("second:3000/vm-3000-disk-7.raw", size=1024, vmid=3000)
    world.add_volume("local:3000/vm-3000-disk-8.raw", size=1024, vmid=3000)
    world.add_volume("local:700/vm-700-disk-0.raw", size=1024, vmid=700)
    world.vms[3000].config["unused0"] = "second:3000/vm-3000-disk-7.raw"
    await provider.destroy(machine)
    assert {*world.volumes} == {ISO, "local:700/vm-700-disk-0.raw"}


async def test_a_seed_is_detached_and_deleted_with_the_iso_and_no_other(tmp_path: Path) -> None:
    """`w-1` is the beginning of `w-1-2`, and another node."""
    longer = with_settings(spec_of("w-2"), name="w-1-2")
    nodes = {"w-1": spec_of("w-1"), "w-1-2": longer}
    with proxmox(tmp_path, nodes=nodes) as harness:
        provider = harness.provider()
        machine = await provider.create(nodes["w-1"], CONFIG)
        await provider.create(longer, CONFIG)
        assert seeds(harness) == ["w-1", "w-1-2"]
        harness.world.add_volume(
            "local:iso/talosmith-fedcba9876543210-seed-w-1-0123456789abcdef.iso", content=b"other"
        )
        assert await provider.forget_seed(machine)
        assert seeds(harness) == ["w-1-2"] and ISO in harness.world.volumes
        assert "local:iso/talosmith-fedcba9876543210-seed-w-1-0123456789abcdef.iso" in harness.world.volumes
        config = config_of(harness, 3000)
        assert (config["ide0"], config["ide2"]) == ("none,media=cdrom", "none,media=cdrom")
        assert harness.world.vms[3000].status == "running" and not {"ide0", "ide2"} & {
            *harness.world.vms[3000].pending
        }
        found = {one.name: one for one in await provider.find()}
        assert (found["w-1"].seeded, found["w-1-2"].seeded) == (False, True)
        assert not await provider.forget_seed(machine), "there is none any more"
        assert (await provider.create(nodes["w-1"], CONFIG)).seeded is False, "a machine that exists gets no new one"


async def test_an_iso_that_the_user_has_inserted_stays_in_its_drive(harness: ProxmoxHarness) -> None:
    machine = await harness.provider().create(harness.spec("w-1"), CONFIG)
    harness.world.add_volume("local:iso/memtest.iso", content=b"tests")
    harness.world.vms[3000].config["ide0"] = "local:iso/memtest.iso,media=cdrom"
    assert await harness.provider().forget_seed(machine)
    config = config_of(harness, 3000)
    assert (config["ide0"], config["ide2"]) == ("local:iso/memtest.iso,media=cdrom", "none,media=cdrom")


async def test_a_seed_that_stayed_behind_when_its_machine_moved(tmp_path: Path) -> None:
    """The ISO storage is each host's own: the seed is where the machine was created."""
    world = Proxmox(nodes=("pve", "pve2"))
    world.storages["second"].shared = True
    with proxmox(tmp_path, world, options={"datastore": "second"}) as harness:
        machine = await harness.provider().create(harness.spec("w-1"), CONFIG)
        world.vms[3000].node = "pve2"
        assert await harness.provider().forget_seed(machine) and seeds(harness) == []


async def test_a_seed_of_a_node_that_is_no_more_in_the_inventory_is_found_and_deleted(
    harness: ProxmoxHarness,
) -> None:
    harness.world.faults.lose_requests(1, "POST", QEMU)
    with pytest.raises(Temporary):
        await harness.provider().create(harness.spec("w-1"), CONFIG)
    harness.nodes = {"w-2": harness.spec("w-2")}
    provider = harness.provider()
    (left,) = await provider.find()
    assert left.name == "w-1" and left.unfinished and left.seeded
    await provider.destroy(left)
    assert seeds(harness) == [] and await provider.find() == []


# How much at once


def most_at_once(world: Proxmox, kind: str) -> Callable[[], int]:
    """How many tasks of a kind have run at the same time."""
    start, most = world.tasks.start, [0]

    def counted(*given: Any) -> str:
        upid = start(*given)
        most[0] = max(most[0], sum(task.type == kind for task in world.tasks.active()))
        return upid

    world.tasks.start = counted  # type: ignore[method-assign,assignment]
    return lambda: most[0]


async def test_one_clone_at_a_time(harness: ProxmoxHarness) -> None:
    from_template(harness)
    harness.world.pace.durations["full clone"] = 10.0
    most = most_at_once(harness.world, "qmclone")
    provider = harness.provider()
    await asyncio.gather(*(provider.create(harness.spec(f"w-{number}")) for number in range(1, 6)))
    assert most() == 1 and len(await provider.find()) == 5


async def test_several_creates_at_a_time_and_one_after_a_lock_time_out(harness: ProxmoxHarness) -> None:
    harness.world.pace.durations["qmcreate"] = 20.0
    most = most_at_once(harness.world, "qmcreate")
    provider = harness.provider()
    await asyncio.gather(*(provider.create(harness.spec(f"w-{number}")) for number in range(1, 6)))
    assert most() == 4
    harness.world.faults.refuse(500, "unable to create VM 3010 - can't lock file '/x' - got timeout", 1, "POST", QEMU)
    with pytest.raises(Temporary, match="can't lock"):
        await provider.create(harness.spec("w-11"))
    most = most_at_once(harness.world, "qmcreate")
    await asyncio.gather(*(provider.create(harness.spec(f"w-{number}")) for number in range(11, 16)))
    assert most() == 1


async def test_a_lane_is_free_again_after_a_failure() -> None:
    some = lanes.Lanes()
    with pytest.raises(Permanent):
        async with some.cloning("pve", "local"):
            raise Permanent("no room")
    waiting = asyncio.create_task(_within(some))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(5), some.cloning("pve", "local"):
        pass


async def _within(some: lanes.Lanes) -> None:
    async with some.writing("pve", "local"):
        await asyncio.Event().wait()


# Without a seed


def unseeded(harness: ProxmoxHarness, *, agent: bool) -> MachineSpec:
    """At an address of a network of its own."""
    harness.options = {**harness.options, "seed": False}
    image = Image(extensions=["siderolabs/qemu-guest-agent"] if agent else [])
    spec = with_settings(spec_of("w-1"), image=image, ip=ip_network(free_network())[20])
    harness.nodes = {"w-1": spec}
    return spec


async def test_no_seed_is_made_where_none_is_wanted(harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "neighbours", dict)
    spec = unseeded(harness, agent=False)
    provider = harness.provider()
    assert not provider.seeds
    machine = await provider.create(spec, CONFIG)
    assert not machine.seeded and seeds(harness) == [] and machine.addresses == (str(spec.ip),)
    assert config_of(harness, 3000)["ide2"] == "none,media=cdrom"
    assert not await provider.forget_seed(machine)
    await provider.destroy(machine)
    assert not harness.world.vms


async def test_the_guest_agent_tells_the_address(harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "neighbours", dict)
    spec = unseeded(harness, agent=True)
    await harness.provider().create(spec)
    (silent,) = await harness.provider().find()
    assert silent.addresses == (str(spec.ip),), "an agent that does not run yet is no error"
    vm = harness.world.vms[3000]
    vm.agent_running = True
    vm.interfaces = [
        {"name": "lo", "hardware-address": "00:00:00:00:00:00", "ip-addresses": [{"ip-address": "127.0.0.1"}]},
        {
            "name": "eth0",
            "hardware-address": "52:54:00:00:00:65",
            "ip-addresses": [{"ip-address": one} for one in ("fe80::1", "2001:db8::9", "192.0.2.9")],
        },
        {"name": "cni0", "hardware-address": "02:00:00:00:00:07", "ip-addresses": [{"ip-address": "10.244.0.1"}]},
    ]
    (found,) = await harness.provider().find()
    assert found.addresses == ("192.0.2.9", "2001:db8::9", str(spec.ip))


async def test_the_neighbours_tell_the_address(harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the table has for the MAC address, only where something answers: entries get old."""
    spec = unseeded(harness, agent=False)
    leased, old = str(ip_address(spec.ip) + 1), str(ip_address(spec.ip) + 2)
    table = {leased: "52:54:00:00:00:65", old: "52:54:00:00:00:65", "192.0.2.1": "02:00:00:00:00:01"}
    monkeypatch.setattr(addresses, "neighbours", lambda: table)
    await harness.provider().create(spec)
    with socket.create_server((leased, 50000)):
        (found,) = await harness.provider().find()
        assert found.addresses == (leased, str(spec.ip))
    with socket.create_server((str(spec.ip), 50000)):
        (found,) = await harness.provider().find()
        assert found.addresses == (str(spec.ip),), "configured: it is at its own address"


# With privileges on a pool alone


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


async def test_uploads_of_another_run_are_waited_for_and_those_of_our_own_are_not(harness: ProxmoxHarness) -> None:
    ours, others = harness.provider(), harness.provider()
    harness.world.freeze()
    upid = await ours.client.upload("pve", "local", "iso", "x.iso", b"x", hashlib.sha256(b"x").hexdigest())
    following = asyncio.create_task(tasks.follow(ours.client, upid, "upload"))
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        assert await ours.find() == []
    waiting = asyncio.create_task(others.find())
    assert not (await asyncio.wait([waiting], timeout=0.2))[0], "the file may be a seed of ours"
    harness.world.settle()
    assert await waiting == []
    await following


def test_a_disk_of_an_odd_size_is_not_too_small() -> None:
    """Proxmox counts in GiB, with a fraction, and rounds down."""
    for mib in (1, 7, 8, 100, 1000, 1023, 1025, 51_201):
        size = options.new_disk("local", mib).partition(":")[2].partition(",")[0]
        assert int(float(size) * 2**30) >= mib * 2**20, size
