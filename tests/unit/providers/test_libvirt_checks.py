"""What is looked at before machines are made on a host; what a real libvirtd can show is looked at there."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from talosmith.errors import Permanent
from talosmith.model.providers import Libvirt
from talosmith.providers.base import Finding
from talosmith.providers.images import Source, obtain
from talosmith.providers.images.checks import check_source
from talosmith.providers.libvirt.capabilities import Capabilities
from talosmith.providers.libvirt.connection import Host, libvirt
from talosmith.providers.libvirt.machines import Machines
from talosmith.providers.libvirt.network_checks import check_forwarding
from talosmith.providers.libvirt.preflight import _kvm, _versions
from talosmith.providers.libvirt.provider import LibvirtProvider
from talosmith.providers.libvirt.store import Store
from talosmith.providers.libvirt.trial import Trial
from talosmith.providers.network.checks import Wanted, check_addresses
from tests.machine_specs import with_settings
from tests.unit.providers.libvirt_harness import OWNER, TEST_DRIVER, LibvirtHarness

LOGICAL = """<pool type='logical'><name>{name}</name><source><name>vg0</name></source>
<target><path>/dev/vg0</path></target></pool>"""


@pytest.fixture
def harness(tmp_path: Path, libvirt_library: object) -> Iterator[LibvirtHarness]:
    image = tmp_path / "disk.raw"
    image.write_bytes(b"\xeb\x63".ljust(4096, b"\0"))
    made = LibvirtHarness(image)
    made.clear()
    yield made
    made.clear()


def test_a_libvirt_that_is_too_old() -> None:
    def host(version: int) -> SimpleNamespace:
        return SimpleNamespace(
            getLibVersion=lambda: version, getVersion=lambda: 7_002_022, getType=lambda: "QEMU", getURI=lambda: "here"
        )

    old = _versions(host(5_010_000))
    assert old.level == "error" and "5.10.0" in old.evidence and "6.0" in old.fix
    assert _versions(host(6_000_000)).evidence == "here: libvirt 6.0.0, QEMU 7.2.22"


# Virtualisation


@pytest.mark.parametrize(
    ("domain_type", "runs", "level"),
    [
        ("auto", True, "ok"), ("kvm", True, "ok"), ("auto", False, "warning"), ("kvm", False, "error"),
        ("auto", None, "warning"), ("kvm", None, "warning"),
    ],
)  # fmt: skip
def test_kvm_that_does_not_work_is_named(domain_type: str, runs: bool | None, level: str) -> None:
    found = _kvm("amd64", domain_type, Trial(runs, "what was seen"))
    assert found.level == level and "what was seen" in found.evidence
    assert level == "ok" or (found.cause and found.fix)
    if (domain_type, runs) == ("auto", False):
        assert "emulated" in found.cause and "slower" in found.cause, "what it costs"


@pytest.mark.parametrize(("runs", "kind"), [(True, "kvm"), (False, "qemu"), (None, "kvm")])
def test_auto_is_emulation_where_no_machine_runs_by_kvm(
    harness: LibvirtHarness, runs: bool | None, kind: str
) -> None:

    provider = LibvirtProvider(OWNER, Host(TEST_DRIVER), harness.provider()._settings)
    provider._trials._done["kvm", "x86_64"] = Trial(runs, "tried before")
    host = Capabilities("QEMU", {"x86_64": ("qemu", "kvm")})
    made = provider._hardware(host, "amd64")
    assert made["kind"] == kind
    assert made["cpu_model"] == {"kvm": "host", "qemu": "maximum"}[kind]


def test_kvm_that_is_slow_is_told() -> None:
    assert _kvm("amd64", "auto", Trial(True, "", 0.4)).level == "ok"
    assert _kvm("amd64", "auto", Trial(True, "", 4.7)).level == "warning"


# Storage


async def test_a_pool_that_holds_no_files_is_refused_and_left_as_it_is(harness: LibvirtHarness) -> None:
    pool = harness.connection.storagePoolDefineXML(LOGICAL.format(name="volumes"))
    try:
        harness.section = harness.section.model_copy(update={"pool": "volumes"})
        found = {one.check: one for one in await harness.provider().preflight([harness.spec("w-1")])}
        assert found["storage pool"].level == "error" and "'logical'" in found["storage pool"].cause
        assert "dir, fs, netfs" in found["storage pool"].fix
        with pytest.raises(Permanent, match=r"'volumes' is of the kind 'logical'") as refused:
            await harness.provider().create(harness.spec("w-1"))
        assert "pool_path" in refused.value.hint
        assert not pool.isActive(), "somebody else's pool was switched on"
        assert await harness.there() == []
    finally:
        pool.undefine()


def test_kinds_of_pools_by_what_libvirt_calls_them() -> None:
    store = Store(Host(TEST_DRIVER), OWNER, "some")
    for kind, holds_files in (("dir", True), ("fs", True), ("netfs", True), ("logical", False), ("rbd", False),
                              ("iscsi", False), ("zfs", False), ("disk", False)):  # fmt: skip
        pool = SimpleNamespace(XMLDesc=lambda kind=kind: f"<pool type='{kind}'><name>some</name></pool>")
        if holds_files:
            assert store.described(pool).type == kind
            continue
        with pytest.raises(Permanent, match=f"'{kind}'"):
            store.described(pool)


@pytest.mark.slow
async def test_room_in_the_pool(harness: LibvirtHarness) -> None:
    """The test driver's pool has 100 GiB; a machine takes two of them soon, and all that it was promised some day."""

    async def found(machines: int, disk_gib: int) -> Finding:
        specs = [
            with_settings(harness.spec(f"w-{number}"), disks_mib=(disk_gib * 1024,)) for number in range(machines)
        ]
        return next(one for one in await harness.provider().preflight(specs) if one.check == "storage pool")

    assert (await found(4, 20)).level == "ok"
    promised = await found(4, 40)
    assert promised.level == "warning" and "160.0 GiB promised" in promised.evidence
    full = await found(60, 1)
    assert full.level == "error" and "no room" in full.cause and full.fix


# Images


def test_an_image_with_another_checksum_is_found_out_before_the_start(tmp_path: Path) -> None:
    file = tmp_path / "talos.raw"
    file.write_bytes(b"\xeb\x63".ljust(4096, b"\0"))
    right = hashlib.sha256(file.read_bytes()).hexdigest()
    assert check_source(Source(str(file), f"sha256:{right}"), tmp_path / "cache").level == "ok"
    wrong = check_source(Source(str(file), f"sha256:{'0' * 64}"), tmp_path / "cache")
    assert wrong.level == "error" and right in wrong.cause and "image_checksum" in wrong.fix


def test_an_image_that_was_fetched_before_needs_no_server(tmp_path: Path) -> None:
    file = tmp_path / "talos.raw"
    file.write_bytes(b"\xeb\x63".ljust(4096, b"\0"))
    source = Source(str(file))
    obtain(source, tmp_path / "cache")
    assert "fetched before" in check_source(source, tmp_path / "cache").evidence
    file.write_bytes(b"\xeb\x64".ljust(8192, b"\0"))
    assert "fetched before" not in check_source(source, tmp_path / "cache").evidence


@pytest.fixture
def server() -> Iterator[str]:
    class NotFound(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200 if self.path == "/talos.raw.xz" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), NotFound) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def test_an_image_that_cannot_be_had(server: str, tmp_path: Path) -> None:
    there = check_source(Source(f"{server}/talos.raw.xz"), tmp_path)
    assert there.level == "ok" and "no checksum is given" in there.evidence
    missing = check_source(Source(f"{server}/other.raw.xz"), tmp_path)
    assert missing.level == "error" and "answers 404" in missing.cause
    unknown = check_source(Source(f"{server}/other.raw.xz", schematic="customization: {}\n"), tmp_path)
    assert unknown.level == "ok", "the factory makes it once it has the schematic"
    silent = check_source(Source("http://127.0.0.1:9/talos.raw.xz"), tmp_path)
    assert silent.level == "warning" and "libvirt.image" in silent.fix


# The network


def system(folder: Path, *, docker: bool = True, passes: str = "1\n", neighbours: str = "") -> Path:
    """What the kernel tells of itself."""
    (folder / "proc/sys/net/bridge").mkdir(parents=True)
    (folder / "proc/sys/net/bridge/bridge-nf-call-iptables").write_text(passes)
    (folder / "proc/net").mkdir(parents=True)
    header = "IP address       HW type     Flags       HW address            Mask     Device\n"
    (folder / "proc/net/arp").write_text(header + neighbours)
    (folder / "sys/class/net" / ("docker0" if docker else "eth0")).mkdir(parents=True)
    return folder


def forwarding(section: Libvirt, root: Path) -> list[Finding]:
    return list(check_forwarding(SimpleNamespace(getURI=lambda: section.uri), section, root))


def test_forwarding_that_docker_drops(tmp_path: Path) -> None:
    bridged = Libvirt(bridge="br0")
    (found,) = forwarding(bridged, system(tmp_path / "both"))
    assert found.level == "warning" and "Docker" in found.cause and "-i br0 " in found.fix
    assert not forwarding(bridged, system(tmp_path / "no docker", docker=False))
    assert not forwarding(bridged, system(tmp_path / "bridges pass", passes="0\n"))
    assert not forwarding(Libvirt(network="default"), tmp_path / "both"), "libvirt makes exceptions for its own"
    far = bridged.model_copy(update={"uri": "qemu+ssh://far/system"})
    assert not forwarding(far, tmp_path / "both"), "this computer is not that host"


@pytest.mark.slow
async def test_who_has_a_new_machines_address_is_told_unless_it_was_ours(tmp_path: Path) -> None:
    wanted = [
        Wanted("127.254.0.7", 50000, "w-1"),
        Wanted("127.254.0.8", 50000, "w-2"),
        Wanted("127.254.0.9", 6443, "the VIP"),
    ]
    line = "{}        0x1         {}         {}     *        br0\n"
    neighbours = (
        line.format("127.254.0.7", "0x2", "52:54:00:AA:00:01")  # the machine that was there before
        + line.format("127.254.0.8", "0x0", "00:00:00:00:00:00")  # nobody has answered
        + line.format("127.254.0.9", "0x2", "02:00:00:00:00:99")
    )
    root = system(tmp_path, neighbours=neighbours)
    found = await check_addresses(wanted, ["52:54:00:aa:00:01", None], root)
    assert (found.level, found.evidence) == ("warning", "127.254.0.9 (the VIP) is at 02:00:00:00:00:99")
    found = await check_addresses(wanted[:2], ["52:54:00:aa:00:01"], root)
    assert (found.level, found.evidence) == ("ok", "2 free")


# Changes


async def test_another_network_in_the_inventory_is_seen_on_machines(harness: LibvirtHarness) -> None:
    await harness.stand()
    machine = await harness.provider().create(harness.spec("w-1"))
    assert machine.outdated == ""
    harness.section = harness.section.model_copy(update={"network": None, "bridge": "br7"})
    (seen,) = await harness.provider().find()
    assert seen.outdated == "from the network 'default' to the bridge 'br7'"
    await harness.provider().power(seen, False)  # the test driver changes no machine that runs
    changed = await harness.provider().resize(seen, harness.spec("w-1"))
    assert (changed.id, changed.outdated, changed.power) == (machine.id, "", "on")


async def test_a_card_that_somebody_has_plugged_elsewhere_stays_there(harness: LibvirtHarness) -> None:
    await harness.stand()
    machine = await harness.provider().create(harness.spec("w-1"))
    await harness.provider().power(machine, False)
    text = harness.connection.lookupByUUIDString(machine.id).XMLDesc(libvirt().VIR_DOMAIN_XML_INACTIVE)
    assert text.count("<interface type='network'>") == 1
    harness.connection.defineXML(
        text.replace("<interface type='network'>", "<interface type='direct'>").replace(
            "<source network='default'/>", "<source dev='eth0' mode='bridge'/>"
        )
    )
    (seen,) = await harness.provider().find()
    assert seen.outdated == ""
    await harness.provider().resize(seen, with_settings(harness.spec("w-1"), ram_mib=256))
    assert "<interface type='direct'>" in harness.connection.lookupByUUIDString(machine.id).XMLDesc(0)


async def test_a_machine_that_goes_off_while_it_is_asked_to(
    harness: LibvirtHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.stand()
    machine = await harness.provider().create(harness.spec("w-1"))
    domain = harness.connection.lookupByUUIDString(machine.id)

    class GoesOff:
        """Between the question whether it is on and the wish that it shuts down."""

        def __getattr__(self, name: str) -> Any:
            return getattr(domain, name)

        def shutdown(self) -> None:
            domain.destroy()
            domain.shutdown()

    monkeypatch.setattr(Machines, "must_be_ours", lambda *_: GoesOff())
    changed = await harness.provider().resize(machine, with_settings(harness.spec("w-1"), ram_mib=256))
    assert (changed.id, changed.ram_mib) == (machine.id, 256)
