"""The look at Proxmox VE before anything is created there: each cause of a later failure is named once, with its fix.

No finding may cost a change: after each preflight the simulated cluster is as it was, and only GET calls were sent.
"""

from __future__ import annotations

import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import TalosmithError
from talosmith.model.machines import MachineSpec
from talosmith.model.secret import Secret
from talosmith.providers.base import Finding, Known
from talosmith.providers.images import Source
from talosmith.providers.proxmox.lookup import Lookup, Row
from talosmith.providers.proxmox.settings import Boot
from talosmith.providers.proxmox.trust import Trust
from tests.loopback import free_network, unused_port
from tests.machine_specs import with_settings
from tests.simulators.proxmox import Bridge, Proxmox, Server
from tests.simulators.proxmox.certificate import certificate
from tests.simulators.proxmox.identities import Acl
from tests.unit.providers.proxmox_harness import ProxmoxHarness, disk_image, proxmox, spec_of

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone

MACHINES = (spec_of("cp-1", "controlplane"), spec_of("w-1"))
LIMIT = 10.0  # seconds, also where Proxmox VE is slow to refuse
CONFIG = [f"VM.Config.{what}" for what in ("CDROM", "CPU", "Disk", "HWType", "Memory", "Network", "Options")]


async def look(harness: ProxmoxHarness, specs: Sequence[MachineSpec] = MACHINES) -> list[Finding]:
    before, began = harness.state(), time.monotonic()
    provider = harness.provider()
    found = await provider.preflight(specs)
    await provider.close()
    assert time.monotonic() - began < LIMIT
    assert harness.state() == before and not harness.changes()
    for one in found:
        assert one.check and (one.evidence if one.level == "ok" else one.cause and one.fix), one
    return found


async def the_error(harness: ProxmoxHarness, check: str, specs: Sequence[MachineSpec] = MACHINES) -> Finding:
    """The only one, of this check."""
    found = [one for one in await look(harness, specs) if one.level == "error"]
    assert [one.check for one in found] == [check], found
    return found[0]


# All is well


@pytest.mark.parametrize("version", ["9.1.7", "8.4.5"])
async def test_a_host_where_all_is_well(tmp_path: Path, version: str) -> None:
    """In the order in which someone looks for the cause: what comes first is the cause of what comes after."""
    world = Proxmox(version=version)
    world.add_pool("talos")
    options = {"pool": "talos", "cpu_type": "x86-64-v2-AES"}
    with proxmox(tmp_path, world, options=options) as harness:
        found = await look(harness)
    assert [(one.level, one.check) for one in found] == [
        ("ok", "Proxmox VE API"),
        ("ok", "API token"),
        ("ok", "node pve"),
        ("ok", "storage local on pve"),
        ("ok", "ISO local:iso/talos.iso on pve"),
        ("ok", "VMIDs"),
        ("ok", "memory of pve"),
        ("ok", "bridge vmbr0 on pve"),
        ("ok", "CPU type on pve"),
        ("ok", "pool talos"),
        ("ok", "addresses"),
    ]
    by_check = {one.check: one.evidence for one in found}
    assert f"version {version}" in by_check["Proxmox VE API"] and "2000, 3000" in by_check["VMIDs"]


async def test_a_cluster_of_two_hosts_where_all_is_well(tmp_path: Path) -> None:
    world = Proxmox(nodes=("pve", "pve2"))
    world.add_volume("local:iso/talos.iso", content=b"boots", node="pve2")
    specs = [MACHINES[0], with_settings(MACHINES[1], host="pve2")]
    nodes = {spec.name: spec for spec in specs}
    with proxmox(tmp_path, world, options={"node": None, "hosts": ["pve", "pve2"]}, nodes=nodes) as harness:
        found = await look(harness, specs)
    assert {one.level for one in found} == {"ok"}
    checks = [one.check for one in found]
    for what in ("node {}", "storage local on {}", "memory of {}", "bridge vmbr0 on {}"):
        assert what.format("pve") in checks and what.format("pve2") in checks


async def test_machines_that_exist_need_no_room_any_more(tmp_path: Path) -> None:
    """Neither their VMIDs nor their memory nor the addresses that they answer at are in the way of themselves."""
    with proxmox(tmp_path) as harness:
        await harness.provider().create(MACHINES[0])
        harness.world.nodes["pve"].memory_available = 1
        harness.world.calls.clear()
        found = await look(harness, MACHINES[:1])
    assert {one.level for one in found} == {"ok"}


# API and certificate


@contextmanager
def web_server(status: int, body: bytes, *, tls: bool) -> Iterator[Server]:
    """Something else at the port of Proxmox VE."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as serving:
        if tls:
            serving.socket = certificate().context.wrap_socket(serving.socket, server_side=True)
        threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
        made = certificate()
        yield Server(f"https://127.0.0.1:{serving.server_port}", made.fingerprint, made.pem, serving.server_port)
        serving.shutdown()


@pytest.mark.parametrize("pinned", [True, False])
async def test_an_api_that_cannot_be_reached(tmp_path: Path, pinned: bool) -> None:
    with unused_port() as port:
        server = Server(f"https://127.0.0.1:{port}", certificate().fingerprint, "", port)
        harness = ProxmoxHarness(Proxmox(), server, tmp_path, trust=None if pinned else Trust())
        found = await the_error(harness, "Proxmox VE API")
    assert "connection refused" in found.cause and found.evidence == f"127.0.0.1:{port}"
    assert "proxmox.url" in found.fix and "8006" in found.fix


@pytest.mark.parametrize(
    ("status", "body", "tls"),
    [(200, b"<html>It works!</html>", True), (404, b"not found", True), (200, b"It works!", False)],
)
async def test_something_that_is_not_proxmox_at_the_port(tmp_path: Path, status: int, body: bytes, tls: bool) -> None:
    with web_server(status, body, tls=tls) as server:
        found = await the_error(ProxmoxHarness(Proxmox(), server, tmp_path), "Proxmox VE API")
    assert found.evidence == f"127.0.0.1:{server.port}"
    assert "proxmox.url" in found.fix, "the address is wrong, not the host"
    assert "task log" not in found.fix


@pytest.mark.parametrize("pinned", [True, False])
async def test_a_port_without_tls(tmp_path: Path, pinned: bool) -> None:
    with web_server(200, b"It works!", tls=False) as server:
        harness = ProxmoxHarness(Proxmox(), server, tmp_path, trust=None if pinned else Trust())
        found = await the_error(harness, "Proxmox VE API")
    assert "TLS" in found.cause and "no answer" not in found.cause and "proxmox.url" in found.fix


async def test_a_certificate_that_nobody_vouches_for_is_shown_to_be_pinned(tmp_path: Path) -> None:
    with proxmox(tmp_path, trust=Trust()) as harness:
        found = await the_error(harness, "certificate")
        assert not harness.calls(), "the token went to a server that is not trusted"
    assert "self" in found.cause and "signed" in found.cause, found.cause
    assert harness.server.fingerprint in found.evidence
    assert f"`proxmox.fingerprint: {harness.server.fingerprint}`" in found.fix
    assert "pvenode cert info" in found.fix, "a fingerprint is compared before it is pinned"


async def test_another_certificate_than_the_pinned_one(tmp_path: Path) -> None:
    with proxmox(tmp_path, trust=Trust("0" * 64)) as harness:
        found = await the_error(harness, "certificate")
        assert not harness.calls()
    assert "not the pinned one" in found.cause and harness.server.fingerprint in found.evidence
    assert harness.server.fingerprint in found.fix


async def test_a_ca_file_vouches_for_the_server(tmp_path: Path) -> None:
    ca = tmp_path / "pve-root-ca.pem"
    ca.write_text(certificate().pem)
    with proxmox(tmp_path, trust=Trust(ca=str(ca))) as harness:
        assert {one.level for one in await look(harness)} == {"ok"}


@pytest.mark.parametrize(("content", "wrong"), [(None, "does not exist"), ("not a certificate", "cannot be used")])
async def test_a_ca_file_that_is_of_no_use(tmp_path: Path, content: str | None, wrong: str) -> None:
    ca = tmp_path / "ca.pem"
    if content:
        ca.write_text(content)
    with proxmox(tmp_path, trust=Trust(ca=str(ca))) as harness:
        found = await the_error(harness, "certificate")
        assert not harness.calls()
    assert str(ca) in found.cause and wrong in found.cause and "proxmox.ca" in found.cause


async def test_a_version_that_is_too_old(tmp_path: Path) -> None:
    with proxmox(tmp_path, Proxmox(version="7.4-3")) as harness:
        found = await the_error(harness, "Proxmox VE API")
    assert "7.4-3" in found.cause and "Proxmox VE 8" in found.fix


async def test_a_host_whose_api_daemon_is_down(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.faults.pvedaemon_down = True
        found = await the_error(harness, "Proxmox VE")
    assert "Connection refused" in found.cause and "pvedaemon" in found.fix and found.transient


async def test_a_host_whose_cluster_filesystem_is_down(tmp_path: Path) -> None:
    """Each answer takes three seconds then: it is waited for once."""
    with proxmox(tmp_path, Proxmox(real_delays=True)) as harness:
        harness.world.faults.pmxcfs_down = True
        found = await the_error(harness, "Proxmox VE API")
    assert "access control list" in found.cause and "pve-cluster" in found.fix


# Token


@pytest.mark.parametrize("token", ["wrong", "unknown", "exp"])
async def test_a_token_that_is_not_accepted(tmp_path: Path, token: str) -> None:
    """Proxmox VE lets a refused token wait for three seconds, and does not say what is wrong with it."""
    with proxmox(tmp_path, Proxmox(real_delays=token == "wrong"), token=token) as harness:
        found = await the_error(harness, "API token")
        name, secret = harness.world.tokens[token]
        assert len(harness.world.calls) == 1, "each question costs three seconds"
    assert "Authentication failed!" in found.cause and name in found.evidence
    assert f"pveum user token list {name.partition('!')[0]}" in found.fix
    assert secret not in repr(found)


def pveum(world: Proxmox, fix: str) -> None:
    """Runs the commands of a fix, as root would on the host."""
    lines = [line for line in fix.splitlines() if line.startswith("pveum ")]
    assert lines
    for line in lines:
        assert any(_run(world, *shlex.split(command)[1:]) for command in line.split(" || ")), line


def _run(world: Proxmox, what: str, verb: str, name: str, *options: str) -> bool:
    given = dict(zip(options[::2], options[1::2], strict=True))
    if what == "role":
        privileges = frozenset(given["--privs"].split(","))
        assert privileges <= world.access.privileges, "Proxmox VE refuses privileges that it does not know"
        if (verb == "add") == (name in world.access.roles):
            return False
        kept = world.access.roles.get(name, frozenset()) if given.get("--append") == "1" else frozenset()
        world.access.roles[name] = kept | privileges
        return True
    assert (what, verb) == ("acl", "modify")
    who = given.get("--users") or given["--tokens"]
    assert who in world.access.users or who in world.access.tokens
    for role in given["--roles"].split(","):
        assert role in world.access.roles
        world.access.acls.append(Acl(name, who, role))  # beside the roles that the path has for them
    return True


async def whole_life(harness: ProxmoxHarness) -> None:
    """All that `up`, a resize and `destroy` call."""
    provider = harness.provider()
    for wanted in provider.resources():
        await provider.create_resource(wanted, Known(resources={}, machines={}))
    for spec in MACHINES:
        machine = await provider.create(spec, Secret("machine: {}"))
        larger = with_settings(spec, cpu=4, ram_mib=4096, disks_mib=(20480, 5120, 5120))
        machine = await provider.resize(machine, larger)
        assert (machine.cpu, machine.ram_mib, machine.disks_mib) == (4, 4096, (20480, 5120, 5120))
        assert await provider.forget_seed(machine)
        await provider.power(machine, on=False)
        await provider.power(machine, on=True)
    for machine in await provider.find():
        await provider.destroy(machine)
    for resource in reversed(await provider.find_resources()):
        await provider.delete_resource(resource)
    await provider.close()


def from_iso(harness: ProxmoxHarness) -> None:
    pass


def from_image(harness: ProxmoxHarness) -> None:
    harness.boot = Boot("image", disk_image(harness.folder))


def from_made_template(harness: ProxmoxHarness) -> None:
    harness.boot = Boot("template", disk_image(harness.folder))


def from_made_template_in_a_pool(harness: ProxmoxHarness) -> None:
    from_made_template(harness)
    in_a_pool(harness)


def from_linked_template(harness: ProxmoxHarness) -> None:
    harness.world.add_volume("local:900/base-900-disk-0.raw", size=1024 * 1024, vmid=900)
    disk = "local:900/base-900-disk-0.raw,size=1M"
    harness.world.add_vm(900, "golden", template=1, scsi0=disk, net0="virtio=02:00:00:00:00:01,bridge=vmbr0")
    harness.boot = Boot("template", template="golden")
    harness.options = {**harness.options, "clone": "linked"}


def from_linked_template_into_a_pool(harness: ProxmoxHarness) -> None:
    from_linked_template(harness)
    in_a_pool(harness)


def in_a_pool(harness: ProxmoxHarness) -> None:
    harness.world.add_pool("talos")
    harness.options = {**harness.options, "pool": "talos"}


def with_everything(harness: ProxmoxHarness) -> None:
    harness.world.add_lvm_thin()
    harness.options = {
        "datastore": "local-lvm", "iso_storage": "second", "vlan": 20, "start_order": 3, "tpm": True,
    }  # fmt: skip


KINDS = [
    from_iso,
    from_image,
    from_made_template,
    from_made_template_in_a_pool,
    from_linked_template,
    from_linked_template_into_a_pool,
    in_a_pool,
    with_everything,
]


@pytest.mark.parametrize("prepare", KINDS)
@pytest.mark.parametrize("user", ["root@pam", "talos@pve"])
async def test_a_token_without_privileges_gets_by_the_printed_commands_what_it_needs(
    tmp_path: Path, prepare: Callable[[ProxmoxHarness], None], user: str
) -> None:
    """The commands are tried out: with them, and nothing else, everything can be done that the machines ask for."""
    world = Proxmox(version="9.1.7" if user == "root@pam" else "8.4.5")
    name, _ = world.add_token(user, "smith")
    with proxmox(tmp_path, world, token="smith") as harness:
        prepare(harness)
        found = next(one for one in await look(harness) if one.check == "API token")
        assert found.level == "error" and "privilege separation" in found.cause and "no privileges" in found.cause
        assert name in found.evidence and f"--tokens '{name}'" in found.fix
        assert (f"--users {user}" in found.fix) == (user != "root@pam"), "a user who may anything needs no grant"
        pveum(world, found.fix)
        assert {one.level for one in await look(harness)} <= {"ok", "note"}
        await whole_life(harness)


async def test_no_privilege_is_asked_for_in_vain(tmp_path: Path) -> None:
    """Without any one of them something fails. Only to see what storages have, others are enough."""
    world = Proxmox()
    world.add_token("root@pam", "smith")
    with proxmox(tmp_path, world, token="smith") as harness:
        from_linked_template(harness)
        pveum(world, next(one for one in await look(harness) if one.check == "API token").fix)
        granted = {name: held for name, held in world.access.roles.items() if name.startswith("Talosmith")}
        assert sum(map(len, granted.values())) >= 15
        for role, held in granted.items():
            for one in sorted(held - {"Datastore.Audit"}):
                world.access.roles[role] = held - {one}
                with pytest.raises((TalosmithError, AssertionError)):
                    await whole_life(harness)
                world.access.roles[role] = held
                for vmid in [vmid for vmid in world.vms if vmid != 900]:
                    del world.vms[vmid]


async def test_missing_privileges_are_named_with_their_paths(tmp_path: Path) -> None:
    with proxmox(tmp_path, token="sep", options={"vlan": 20, "start_order": 1, "iso_storage": "second"}) as harness:
        found = next(one for one in await look(harness) if one.check == "API token")
    needs = [one.partition(" on ") for one in found.evidence.partition(" needs ")[2].split("; ")]
    named = {path: what.split(", ") for what, _, where in needs for path in where.split(", ")}
    vm = ["VM.Allocate", "VM.Audit", *CONFIG, "VM.PowerMgmt"]
    assert named == {
        "/": ["Sys.Modify"],
        "/sdn/zones/localnetwork/vmbr0/20": ["SDN.Use"],
        "/storage/local": ["Datastore.AllocateSpace", "Datastore.Audit"],
        "/storage/second": ["Datastore.Allocate", "Datastore.AllocateTemplate", "Datastore.Audit"],
        "/vms/2000": vm,
        "/vms/3000": vm,
    }


async def test_a_limited_token_hears_only_of_what_it_lacks(tmp_path: Path) -> None:
    """The token of the recording may create VMs, but neither start them nor upload seeds."""
    with proxmox(tmp_path, token="prov") as harness:
        found = await the_error(harness, "API token")
        assert "lacks" in found.cause and "separation" not in found.cause
        assert "VM.PowerMgmt on /vms/2000" in found.evidence
        assert "Datastore.Allocate, Datastore.AllocateTemplate on /storage/local" in found.evidence
        assert "VM.Audit" not in found.evidence and "SDN.Use" not in found.evidence
        pveum(harness.world, found.fix)
        await look(harness)
        await whole_life(harness)


async def test_granting_more_takes_nothing_away(tmp_path: Path) -> None:
    """Privileges on a path replace those from above, and a role that is changed is changed wherever it is used."""
    world = Proxmox()
    name, _ = world.add_token("talos@pve", "smith")
    for who in ("talos@pve", name):
        world.grant("/", who, "PVEAuditor")
    with proxmox(tmp_path, world, token="smith") as harness:
        found = await the_error(harness, "API token")
        assert "Datastore.Audit" not in found.evidence, "it has that from the root path"
        pveum(world, found.fix)
        assert {one.level for one in await look(harness)} == {"ok"}
        from_made_template(harness)  # now the inventory wants something else besides
        found = await the_error(harness, "API token")
        assert "VM.Clone on /vms" in found.evidence
        pveum(world, found.fix)
        assert {one.level for one in await look(harness)} == {"ok"}
        await whole_life(harness)


async def test_what_one_token_is_granted_is_not_taken_from_another(tmp_path: Path) -> None:
    """The roles have the same names for all; a cluster that needs less makes them no smaller."""
    world = Proxmox()
    world.add_token("root@pam", "more")
    world.add_token("root@pam", "less")
    with proxmox(tmp_path, world) as harness:
        for token, prepare in (("more", from_made_template), ("less", from_iso)):
            harness.token, harness.boot = token, Boot("iso", volume="local:iso/talos.iso")
            prepare(harness)
            pveum(world, next(one for one in await look(harness) if one.check == "API token").fix)
        harness.token = "more"
        from_made_template(harness)
        assert next(one for one in await look(harness) if one.check == "API token").level == "ok"


# Node, storage


async def test_a_node_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"node": "pve9"}) as harness:
        found = await the_error(harness, "node pve9")
    assert "pve9" in found.cause and found.evidence == "there are: pve" and "`proxmox.node`" in found.fix


async def test_a_node_that_is_offline(tmp_path: Path) -> None:
    world = Proxmox(nodes=("pve", "pve2"), real_delays=True)
    world.nodes["pve2"].online = False
    nodes = {"w-1": with_settings(MACHINES[1], host="pve2")}
    with proxmox(tmp_path, world, nodes=nodes, options={"node": None, "hosts": ["pve", "pve2"]}) as harness:
        found = await the_error(harness, "node pve2", list(nodes.values()))
    assert "not online" in found.cause and "offline" in found.evidence and "`proxmox.hosts`" in found.fix


@pytest.mark.parametrize("fault", ["no route", "timeout"])
async def test_a_node_that_is_online_and_does_not_answer(tmp_path: Path, fault: Any) -> None:
    """The node that was asked waits for the other one for 3 or 30 seconds; we do not."""
    world = Proxmox(nodes=("pve", "pve2"), real_delays=True)
    world.nodes["pve2"].fault = fault
    nodes = {"w-1": with_settings(MACHINES[1], host="pve2")}
    with proxmox(tmp_path, world, nodes=nodes, options={"node": None, "hosts": ["pve", "pve2"]}) as harness:
        found = [one for one in await look(harness, list(nodes.values())) if one.level == "error"]
    assert len(found) == 1 and "pve2" in found[0].cause and found[0].transient


async def test_a_storage_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"datastore": "fast"}) as harness:
        found = await the_error(harness, "storage fast on pve")
    assert "'fast'" in found.cause and "local, second, slow" in found.evidence and "`proxmox.datastore`" in found.fix


async def test_a_storage_that_is_disabled(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"datastore": "second"}) as harness:
        harness.world.storages["second"].enabled = False
        found = await the_error(harness, "storage second on pve")
    assert "disabled" in found.cause and found.fix == "pvesm set second --disable 0"


async def test_a_storage_that_is_not_active(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"datastore": "second"}) as harness:
        harness.world.storages["second"].active = False
        found = await the_error(harness, "storage second on pve")
    assert "not active" in found.cause and "pvesm status --storage second" in found.fix


async def test_a_storage_that_is_not_active_and_has_the_iso_is_one_error(tmp_path: Path) -> None:
    """What follows from it is not another one."""
    with proxmox(tmp_path, options={"datastore": "second"}) as harness:
        harness.world.storages["local"].active = False
        found = await the_error(harness, "storage local on pve")
    assert "not active" in found.cause


@pytest.mark.parametrize(
    ("key", "lacking", "boot"),
    [("datastore", "images", "iso"), ("iso_storage", "iso", "iso"), ("image_storage", "import", "image")],
)
async def test_a_storage_that_does_not_allow_what_is_to_be_put_there(
    tmp_path: Path, key: str, lacking: str, boot: str
) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.add_storage("odd", content=("vztmpl",))
        harness.options = {key: "odd"}
        if boot == "image":
            from_image(harness)
        found = await the_error(harness, "storage odd on pve")
    assert lacking in found.cause and "vztmpl" in found.evidence
    assert f"pvesm set odd --content vztmpl,{lacking}" in found.fix
    assert f"set `proxmox.{key}` to local" in found.fix, "a storage that does allow it"


async def test_a_storage_without_room(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.storages["local"].avail = 3 * 2**30
        found = await the_error(harness, "storage local on pve")
        assert (
            "no room" in found.cause and "3.0 GiB free" in found.evidence and "30.0 GiB asked for" in found.evidence
        )
        assert "`proxmox.datastore`" in found.fix
        harness.world.storages["local"].avail = 20 * 2**30  # enough to start with, if disks are thin
        (warning,) = [one for one in await look(harness) if one.level != "ok"]
    assert (warning.level, warning.check) == (
        "warning",
        "storage local on pve",
    ) and "20.0 GiB free" in warning.evidence


# What machines start from


async def test_an_iso_that_proxmox_does_not_have(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("iso", volume="local:iso/other.iso")) as harness:
        harness.world.add_volume("local:iso/talos.iso", content=b"boots")
        found = await the_error(harness, "ISO local:iso/other.iso on pve")
    assert "other.iso" in found.cause and "talos.iso" in found.evidence and "`proxmox.iso`" in found.fix


async def test_an_image_that_proxmox_does_not_have(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("image", volume="local:import/talos.raw")) as harness:
        found = await the_error(harness, "image local:import/talos.raw on pve")
    assert "talos.raw" in found.cause and "nothing" in found.evidence and "`proxmox.image`" in found.fix


async def test_an_image_file_that_is_not_here(tmp_path: Path) -> None:
    missing = tmp_path / "gone.raw"
    with proxmox(tmp_path, boot=Boot("image", Source(str(missing), setting="proxmox.image"))) as harness:
        found = await the_error(harness, "image gone.raw")
    assert str(missing) in found.cause + found.evidence and "`proxmox.image`" in found.fix


async def test_an_image_that_was_uploaded_before_need_not_be_here(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("image", disk_image(tmp_path))) as harness:
        provider = harness.provider()
        for spec in provider.resources():
            await provider.create_resource(spec, Known(resources={}, machines={}))
        (tmp_path / "talos.raw").unlink()
        harness.world.calls.clear()
        found = [one for one in await look(harness) if one.check.startswith("image ")]
    assert [(one.level, one.evidence) for one in found] == [("ok", "local of pve has it")]


async def test_a_template_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("template", template="golden")) as harness:
        found = await the_error(harness, "template golden for pve")
    assert "'golden'" in found.cause and "`proxmox.template`" in found.fix


async def test_a_template_of_another_node_whose_storage_is_not_shared(tmp_path: Path) -> None:
    with proxmox(tmp_path, Proxmox(nodes=("pve", "pve2")), boot=Boot("template", template="golden")) as harness:
        disk = "local:900/base-900-disk-0.raw,size=1G"
        harness.world.add_vm(900, "golden", template=1, scsi0=disk, node="pve2")
        found = await the_error(harness, "template golden for pve")
        assert "pve2" in found.cause and "VM 900" in found.evidence
        harness.world.storages["local"].shared = True
        assert not [one for one in await harness.provider().preflight(MACHINES) if one.level == "error"]


async def test_a_vm_that_is_not_a_template(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("template", template="golden")) as harness:
        harness.world.add_vm(900, "golden")
        found = await the_error(harness, "template golden for pve")
    assert "VM 900" in found.cause and "not a template" in found.cause and "convert" in found.fix


# VMID


async def test_a_vmid_that_somebodys_vm_has(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.add_vm(3000, "jellyfin")
        found = await the_error(harness, "VMID 3000")
    assert "of w-1" in found.cause and found.evidence == "by jellyfin on pve"
    assert "`vmid` of w-1" in found.fix and "`proxmox.vmid_base`" in found.fix


async def test_a_vmid_that_a_machine_of_another_cluster_has(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        line = "talosmith machine cluster=other id=fedcba9876543210 node=cp-7 role=controlplane vmid=2000\n"
        harness.world.add_vm(2000, "cp-7", tags="talosmith;talosmith-fedcba9876543210", description=line)
        found = await the_error(harness, "VMID 2000")
    assert "cp-7 on pve, node cp-7 of the cluster other" in found.evidence


async def test_a_vmid_of_a_vm_that_the_token_may_not_see(tmp_path: Path) -> None:
    """With privileges on a pool only, the VMs outside of it are not listed; their VMIDs are taken all the same."""
    world = Proxmox()
    world.add_token("root@pam", "smith")
    with proxmox(tmp_path, world, token="smith") as harness:
        in_a_pool(harness)
        pveum(world, next(one for one in await look(harness) if one.check == "API token").fix)
        world.add_vm(2000, "secret-project")
        found = await the_error(harness, "VMID 2000")
    assert "may not see" in found.evidence and "secret-project" not in repr(found)


# Memory, bridge, CPU, pool, addresses


async def test_too_little_memory(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.nodes["pve"].memory_available = 4 * 2**30
        found = await the_error(harness, "memory of pve")
        assert "6144 MiB asked for by 2 machines" in found.evidence and "4096 of " in found.evidence
        assert "too little memory free" in found.cause and "`ram`" in found.fix
        huge = [with_settings(MACHINES[0], ram_mib=1024 * 1024)]
        assert "less memory than" in (await the_error(harness, "memory of pve", huge)).cause


async def test_a_bridge_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"bridge": "vmbr7"}) as harness:
        harness.world.add_bridge("vmbr1")
        found = await the_error(harness, "bridge vmbr7 on pve")
    assert "'vmbr7'" in found.cause and "vmbr0, vmbr1" in found.evidence and "`proxmox.bridge`" in found.fix


async def test_a_network_of_sdn_is_a_bridge(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"bridge": "lab"}) as harness:
        harness.world.nodes["pve"].bridges["lab"] = Bridge("lab", type="vnet", zone="simple")
        assert {one.level for one in await look(harness)} == {"ok"}


async def test_a_cpu_type_that_the_host_does_not_know(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"cpu_type": "x86-64-v9"}) as harness:
        found = await the_error(harness, "CPU type on pve")
    assert "'x86-64-v9'" in found.cause and "`proxmox.cpu_type`" in found.fix and "`host`" in found.fix


async def test_a_pool_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"pool": "talos"}) as harness:
        harness.world.add_pool("others")
        found = await the_error(harness, "pool talos")
    assert "'talos'" in found.cause and "others" in found.evidence and "pveum pool add talos" in found.fix


async def test_an_address_where_something_answers(tmp_path: Path) -> None:
    address = str(ip_network(free_network())[40])
    spec = replace(MACHINES[1], node=replace(MACHINES[1].node, ip=ip_network(f"{address}/32")[0]))
    with socket.create_server((address, 50000)), proxmox(tmp_path, nodes={"w-1": spec}) as harness:
        found = await the_error(harness, "addresses", [spec])
    assert f"{address} (w-1)" in found.evidence and "other addresses" in found.fix


async def test_a_machine_that_another_run_makes_meanwhile_is_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its VM is made between two looks: listed by none, and its VMID is taken."""
    with proxmox(tmp_path) as harness:
        await harness.provider().create(harness.spec("w-1"))
        provider, late = harness.provider(), [1, 1]
        rows = Lookup.rows

        async def once_without(self: Lookup) -> list[Row]:
            found = await rows(self)
            return [row for row in found if row.vmid != 3000] if late and late.pop() else found

        monkeypatch.setattr(Lookup, "rows", once_without)
        found = await provider.preflight([harness.spec("w-1")])
        assert not late, "the look without the VM was not asked for"
        assert not [one for one in found if one.check.startswith("VMID 3000")], found
