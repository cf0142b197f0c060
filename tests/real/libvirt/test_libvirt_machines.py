"""The life of real virtual machines: they boot what they should, know who they are, and leave nothing behind."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.model.providers import Libvirt
from talosmith.model.secret import Secret
from talosmith.providers.base import Known
from talosmith.providers.images import Source, obtain
from talosmith.providers.libvirt import store
from talosmith.providers.libvirt.connection import Host, libvirt
from talosmith.providers.libvirt.domain import Link, read
from talosmith.providers.libvirt.networks import Network
from talosmith.providers.libvirt.provider import LibvirtProvider
from talosmith.providers.libvirt.storage import claimed, image_name, is_image
from tests.machine_specs import with_settings
from tests.real.libvirt.daemon import Daemon
from tests.real.libvirt.places import CONFIG, OTHER, OWNER, Place
from tests.resource_contract import create_all, delete_all
from tests.waiting import until


def _hash(config: Secret) -> str:
    return hashlib.sha256(config.reveal().encode()).hexdigest()


@pytest.fixture
async def place(daemon: Daemon, subnet: str, halting_image: Path, tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(daemon, subnet, halting_image, tmp_path / "cache")
    yield made
    await made.end()


@pytest.mark.slow
async def test_a_machine_boots_from_its_disk_and_knows_who_it_is(
    daemon: Daemon, subnet: str, guest: Path, tmp_path: Path
) -> None:
    place = Place(daemon, subnet, guest, tmp_path / "cache")
    provider, spec = place.provider, place.spec()
    try:
        await place.stand()
        machine = await provider.create(spec, CONFIG)
        assert machine.seeded and machine.disks_mib == (64, 8)
        told = await place.told(spec)
        assert told == {
            "name": "w-1", "address": str(spec.ip), "mac": spec.mac, "serial": "real-w-1", "uuid": machine.id,
            "cpus": "1", "disks": "64 8", "from": "seed", "config": _hash(CONFIG),
        }  # fmt: skip
        await place.writes(machine, "name w-1")

        # The seed goes; the disk grows while the machine runs.
        (seed,) = [Path(place.section.pool_path or "", name) for name in place.seeds()]
        assert CONFIG.reveal().encode() in seed.read_bytes() and seed.stat().st_mode & 0o077 == 0
        assert await provider.forget_seed(machine)
        assert not await provider.forget_seed(machine) and not place.seeds()
        assert not (await provider.find())[0].seeded
        started = machine.id, place.connection.lookupByUUIDString(machine.id).ID()
        grown = await provider.resize(machine, with_settings(spec, disks_mib=(96, 8)))
        assert grown.disks_mib == (96, 8)
        assert (machine.id, place.connection.lookupByUUIDString(machine.id).ID()) == started, "it was restarted"

        # More memory and one more disk: it is shut down for that, and has kept what it was told.
        larger = with_settings(spec, cpu=2, ram_mib=224, disks_mib=(96, 8, 4))
        changed = await provider.resize(machine, larger)
        assert (changed.cpu, changed.ram_mib, changed.disks_mib, changed.id) == (2, 224, (96, 8, 4), machine.id)
        told = await place.told(spec)
        assert (told["from"], told["config"]) == ("disk", _hash(CONFIG))
        assert (told["cpus"], told["disks"]) == ("2", "96 8 4")

        # Power is lost; with a new seed it comes back as what that says.
        await provider.power(machine, False)
        await provider.reseed(machine, spec, OTHER)
        assert len(place.seeds()) == 1 and (await provider.find())[0].seeded
        await provider.power(machine, True)
        told = await place.told(spec)
        assert (told["from"], told["config"]) == ("seed", _hash(OTHER))
    finally:
        await place.end()
    assert not place.files


async def test_the_image_is_uploaded_once_and_only_whole(
    place: Place, halting_image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = place.provider
    await place.create()
    (name,) = [one for one in place.files if is_image(one)]
    uploaded = Path(place.section.pool_path or "", name)
    assert uploaded.read_bytes() == halting_image.read_bytes()
    written = uploaded.stat().st_ctime_ns
    await place.create(2)
    assert uploaded.stat().st_ctime_ns == written, "it was uploaded again"
    await place.end()

    # An upload that was cut off has no first block, and is done again.
    image = obtain(Source(str(halting_image)), tmp_path / "cache")
    provider._store.make_pool(place.connection)
    pool = provider._store.ready_pool(place.connection)
    volume = pool.createXML(f"<volume><name>{name}</name><capacity>{image.length}</capacity></volume>")
    assert Path(volume.path()).read_bytes() == bytes(image.length)
    monkeypatch.setattr(store, "_pause", lambda: None)  # nobody writes to it, however long one looks
    await place.create()
    assert uploaded.read_bytes() == halting_image.read_bytes()


async def test_an_upload_that_is_under_way_is_left_alone(
    place: Place, halting_image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = obtain(Source(str(halting_image)), tmp_path / "cache")
    place.provider._store.make_pool(place.connection)
    pool = place.provider._store.ready_pool(place.connection)
    name = image_name(image.digest, image.format)
    volume = pool.createXML(f"<volume><name>{name}</name><capacity>{image.length}</capacity></volume>")
    uploaded, content = Path(volume.path()), halting_image.read_bytes()
    made, stream = uploaded.stat().st_ino, place.connection.newStream()
    volume.upload(stream, 512, image.length - 512)

    def write_some() -> None:
        time.sleep(0.05)  # the kernel's clock for files goes by hundredths
        before = uploaded.stat().st_mtime_ns
        stream.send(content[512:1024])
        until(lambda: uploaded.stat().st_mtime_ns != before)

    monkeypatch.setattr(store, "_pause", write_some)
    (spec,) = [one for one in place.provider.resources() if one.kind == "image"]
    with pytest.raises(Temporary, match="being uploaded by another run"):
        await place.provider.create_resource(spec, Known(resources={}, machines={}))
    stream.finish()
    place.provider._host.upload(place.connection, volume, iter([content[:512]]), 512)
    await place.create()
    assert (uploaded.stat().st_ino, uploaded.read_bytes()) == (made, content)


async def test_firmware_tpm_and_snapshots_go_with_the_machine(
    daemon: Daemon, subnet: str, halting_image: Path, tmp_path: Path
) -> None:
    place = Place(daemon, subnet, halting_image, tmp_path / "cache", firmware="uefi", tpm=True)
    provider = place.provider
    try:
        machine = await place.create()
        domain = place.connection.lookupByUUIDString(machine.id)
        described = read(domain.XMLDesc(0))
        assert described.uefi and described.tpm
        state = daemon.folder / "lib"
        assert list(state.glob("qemu/nvram/*")) and list(state.glob(f"swtpm/{machine.id}"))
        await provider.power(machine, False)
        domain.snapshotCreateXML(
            "<domainsnapshot><name>before</name></domainsnapshot>", libvirt().VIR_DOMAIN_SNAPSHOT_CREATE_DISK_ONLY
        )
    finally:
        await place.end()
    assert not place.files
    assert not list(state.glob("qemu/nvram/*")) and not list(state.glob(f"swtpm/{machine.id}"))
    assert not place.connection.listAllDomains()


async def test_a_disk_never_shrinks(place: Place) -> None:
    machine = await place.create()
    for smaller in ((32, 8), (64, 4), (64,)):
        with pytest.raises(Permanent, match=r"shrink|lose") as refused:
            await place.provider.resize(machine, place.spec(disks_mib=smaller))
        assert refused.value.hint
    assert (await place.provider.find())[0].disks_mib == (64, 8)


async def test_a_disk_smaller_than_the_image_is_refused_and_leaves_nothing(
    daemon: Daemon, subnet: str, guest: Path, tmp_path: Path
) -> None:
    place = Place(daemon, subnet, guest, tmp_path / "cache")
    with pytest.raises(Permanent, match="smaller than the image"):
        await place.create(disks_mib=(4,))
    assert not [name for name in place.files if OWNER.id in name and not claimed(name)[0]]
    assert await place.provider.find() == []
    await place.create()
    await place.end()
    assert not place.files


async def test_volumes_and_networks_of_others_stay(place: Place) -> None:
    machine = await place.create()
    pool = place.connection.storagePoolLookupByName(place.section.pool)
    pool.createXML("<volume><name>somebodys.img</name><capacity>512</capacity></volume>")
    twin = f"talosmith-{'f' * 16}-w-1-{machine.id}-disk0.qcow2"
    pool.createXML(f"<volume><name>{twin}</name><capacity>512</capacity></volume>")
    found = {one.kind: one for one in await place.provider.find_resources()}
    assert found["pool"].used_by == ("somebodys.img", twin) and found["image"].used_by == ()
    await place.end()
    assert place.files == ["somebodys.img", twin]
    for name in place.files:
        pool.storageVolLookupByName(name).delete()
    pool.destroy()
    pool.undefine()


async def test_a_pool_that_is_off_is_switched_on_to_take_disks_away(place: Place) -> None:
    machine = await place.create()
    place.connection.storagePoolLookupByName(place.section.pool).destroy()
    assert (await place.provider.find())[0].disks_mib == ()
    await place.provider.destroy(machine)
    await place.end()
    assert not place.files


async def test_a_network_of_somebody_else_is_used_but_never_touched(place: Place) -> None:
    name = f"net-{place.subnet}"
    network = place.connection.networkDefineXML(
        f"<network><name>{name}</name><bridge name='foreign'/><ip address='{place.subnet}.1' prefix='24'/></network>"
    )
    findings = {one.check: one for one in await place.provider.preflight([place.spec()])}
    assert findings["network"].level == "error" and f"virsh net-start {name}" in findings["network"].fix
    with pytest.raises(Permanent, match="network"):
        await place.create()
    await place.end()
    assert not network.isActive()
    network.create()
    findings = {one.check: one for one in await place.provider.preflight([place.spec()])}
    assert (findings["network"].level, findings["network"].evidence) == ("ok", f"{name}, {place.subnet}.0/24")
    elsewhere = place.spec(ip=ip_address("192.0.2.7"))
    findings = {one.check: one for one in await place.provider.preflight([elsewhere])}
    assert findings["network"].level == "warning" and f"node_cidr: {place.subnet}.0/24" in findings["network"].fix
    await place.create()
    await place.end()
    assert network.isActive() and not network.autostart()
    network.destroy()
    network.undefine()


async def test_a_destroy_that_was_cut_off_is_finished(place: Place) -> None:
    """The disks went, the machine did not: it is still found, and goes."""
    machine = await place.create()
    await place.provider._host.do("part of it", lambda one: place.provider._empty(one, machine))
    (found,) = await place.provider.find()
    assert found.power == "off" and found.disks_mib == ()
    with pytest.raises(Permanent):
        await place.provider.power(found, True)
    await place.provider.destroy(found)
    await place.end()
    assert not place.files


async def test_a_machine_moves_to_another_network_and_both_go_with_the_cluster(place: Place) -> None:
    machine = await place.create()
    other = Network(f"other-{place.subnet}", OWNER, "nat", f"{place.subnet}.129", 25)
    section = place.section.model_copy(update={"network": other.name})
    settings = replace(
        place.settings, section=section, network=other, patience=0.5
    )  # what has halted shuts down never
    provider = LibvirtProvider(OWNER, Host(place.daemon.uri), settings)
    (seen,) = await provider.find()
    assert seen.outdated == f"from the network 'net-{place.subnet}' to the network '{other.name}'"
    await create_all(provider)
    moved = await provider.resize(seen, place.spec())
    assert (moved.id, moved.outdated, moved.power) == (machine.id, "", "on")
    described = read(place.connection.lookupByUUIDString(machine.id).XMLDesc(0))
    assert described.link == Link(other.name) and described.mac == place.spec().mac
    await provider.destroy(moved)
    await delete_all(provider, OWNER)
    assert not place.connection.listAllNetworks()


async def test_a_pool_that_holds_no_files_is_refused_and_left_as_it_is(place: Place) -> None:
    pool = place.connection.storagePoolDefineXML(
        "<pool type='logical'><name>vg0</name><source><name>vg0</name></source>"
        "<target><path>/dev/vg0</path></target></pool>"
    )
    section = place.section.model_copy(update={"pool": "vg0"})
    provider = LibvirtProvider(OWNER, Host(place.daemon.uri), replace(place.settings, section=section))
    try:
        findings = {one.check: one for one in await provider.preflight([place.spec()])}
        assert findings["storage pool"].level == "error" and "'logical'" in findings["storage pool"].cause
        with pytest.raises(Permanent, match="'vg0' is of the kind 'logical'"):
            await provider.create(place.spec())
        assert not pool.isActive() and not place.connection.listAllNetworks()
    finally:
        pool.undefine()


async def test_the_look_before_the_start(place: Place) -> None:
    findings = {one.check: one for one in await place.provider.preflight([place.spec()])}
    assert [one.check for one in findings.values() if one.level == "error"] == []
    assert findings["virtualisation"].level == "warning" and "no KVM" in findings["virtualisation"].cause
    assert "libvirt 9" in findings["libvirt"].evidence and "QEMU 7" in findings["libvirt"].evidence
    greedy = place.spec(ram_mib=2**24, disks_mib=(2**30,))
    findings = {one.check: one for one in await place.provider.preflight([greedy])}
    assert findings["memory"].level == "error"

    without = Libvirt(uri=place.daemon.uri, pool="nowhere", network="nothing", domain_type="kvm", image="/no/image")
    settings = replace(place.settings, section=without, network=None, image=lambda _: Source("/no/image"))
    findings = {
        one.check: one
        for one in await LibvirtProvider(OWNER, Host(place.daemon.uri), settings).preflight([place.spec()])
    }
    wrong = {check for check, one in findings.items() if one.level == "error"}
    assert wrong == {"virtualisation", "storage pool", "network", "image"}
    assert all(one.cause and one.fix for one in findings.values() if one.level != "ok")
    bridged = replace(settings, section=Libvirt(uri=place.daemon.uri, pool="nowhere", bridge="no-such-bridge"))
    findings = {
        one.check: one
        for one in await LibvirtProvider(OWNER, Host(place.daemon.uri), bridged).preflight([place.spec()])
    }
    assert findings["bridge"].level == "error"
