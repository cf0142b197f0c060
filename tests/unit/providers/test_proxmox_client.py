"""The client of the Proxmox VE API: what is sent, how often, to whom; and what becomes of each kind of answer."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import logging
import ssl
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from talosmith.errors import Permanent, TalosmithError, Temporary, UsageError
from talosmith.model.providers import Proxmox as Section
from talosmith.model.secret import Secret
from talosmith.providers.progress import reporting_to
from talosmith.providers.proxmox import client as client_module
from talosmith.providers.proxmox import connect, tasks
from talosmith.providers.proxmox.client import ProxmoxClient, Token
from talosmith.providers.proxmox.failures import Denied, Gone, Interrupted, NotTrusted, Refused, Taken, Unanswered
from talosmith.providers.proxmox.tasks import follow
from talosmith.providers.proxmox.trust import Trust
from tests.loopback import unused_port
from tests.simulators.proxmox import HaResource, Proxmox
from tests.unit.providers.proxmox_harness import ProxmoxHarness, proxmox
from tests.waiting import comes_true

pytestmark = pytest.mark.slow

QEMU = "/nodes/pve/qemu"
MANY = 1000


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two tries of reading."""
    monkeypatch.setattr(client_module, "_BETWEEN", 0.0)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ProxmoxHarness]:
    with proxmox(tmp_path) as harness:
        yield harness


@pytest.fixture
async def client(harness: ProxmoxHarness) -> AsyncIterator[ProxmoxClient]:
    client = harness.client()
    yield client
    await client.close()


# Messages


@pytest.mark.parametrize("version", ["9.1.7", "8.4.5"])
async def test_the_reason_phrase_is_the_message(tmp_path: Path, version: str) -> None:
    """Before version 9 the body has no message at all."""
    with proxmox(tmp_path, Proxmox(version=version)) as harness:
        client = harness.client()
        with pytest.raises(Gone, match=r"GET /nodes/pve/qemu/999/config: Configuration file .*999\.conf' does not"):
            await client.get(f"{QEMU}/999/config")
        harness.world.add_vm(100, "other")
        with pytest.raises(Taken, match="VM 100 already exists on node 'pve'"):
            await client.post(QEMU, vmid=100)
        with pytest.raises(Permanent, match="storage 'nosuch' does not exist") as missing:
            await client.get("/nodes/pve/storage/nosuch/content")
        assert "pvesm status" in missing.value.hint
        await client.close()


@pytest.mark.parametrize("version", ["9.1.7", "8.4.5"])
async def test_wrong_parameters_are_named(tmp_path: Path, version: str) -> None:
    with proxmox(tmp_path, Proxmox(version=version)) as harness:
        client = harness.client()
        with pytest.raises(Permanent) as wrong:
            await client.post(QEMU, vmid=100, cores="many", nosuch=1)
        await client.close()
    assert "Parameter verification failed: cores: " in str(wrong.value)
    assert "nosuch: property is not defined in schema" in str(wrong.value) and "\n" not in str(wrong.value)


async def test_booleans_are_written_as_proxmox_wants_them(harness: ProxmoxHarness, client: ProxmoxClient) -> None:
    await follow(client, await client.post(QEMU, vmid=100, onboot=True, protection=False), "create")
    config = harness.world.vms[100].config
    assert (config["onboot"], config["protection"]) == (1, 0)


@pytest.mark.parametrize("status", [595, 596, 599])
async def test_a_node_that_does_not_answer_the_one_that_was_asked(
    harness: ProxmoxHarness, client: ProxmoxClient, status: int
) -> None:
    harness.world.faults.refuse(status, "Connection timed out", MANY)
    with pytest.raises(Unanswered, match="Connection timed out") as wrong:
        await client.post(f"{QEMU}/100/status/start")
    assert isinstance(wrong.value, Temporary) and "pvedaemon" in wrong.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout",
        "unable to create VM 100 - can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout",
        "cfs-lock 'storage-nfs' error: got lock request timeout",
        "VM is locked (backup)",
        "cluster not ready - no quorum?",
        "RPCEnvironment init request failed: Unable to load access control list: Connection refused",
        "checksum mismatch (file change by other user?)",
    ],
)
async def test_what_may_pass_is_temporary(harness: ProxmoxHarness, client: ProxmoxClient, text: str) -> None:
    harness.world.faults.refuse(500, text)
    with pytest.raises(Temporary) as wrong:
        await client.post(f"{QEMU}/100/clone", newid=101)
    assert text in str(wrong.value) and wrong.value.hint and wrong.value.retry_after >= 1


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (401, "Authentication failed!", Refused),
        (403, "Permission check failed (/vms/100, VM.Clone)", Denied),
        (403, "Permission check failed (pool 'nosuch' does not exist)", Permanent),
        (500, "can't remove VM 100 - protection mode enabled", Permanent),
        (500, "only root can set 'args' config", Permanent),
        (500, "bridge 'vmbr9' does not exist", Permanent),
        (501, "Method 'POST /x' not implemented", Permanent),
    ],
)
async def test_what_will_not_pass_is_permanent(
    harness: ProxmoxHarness, client: ProxmoxClient, status: int, text: str, kind: type[Permanent]
) -> None:
    harness.world.faults.refuse(status, text)
    with pytest.raises(Permanent) as wrong:
        await client.post(f"{QEMU}/100/clone", newid=101)
    assert type(wrong.value) is kind and text in str(wrong.value) and wrong.value.hint


async def test_a_refused_token_is_not_asked_for_again(tmp_path: Path) -> None:
    """Each time costs three seconds, and hosts with fail2ban lock the address out."""
    with proxmox(tmp_path, token="wrong") as harness:
        client = harness.client()
        with pytest.raises(Refused):
            await client.get("/version")
        await client.close()
        assert len(harness.world.calls) == 1


# How often


async def test_reading_is_repeated(harness: ProxmoxHarness, client: ProxmoxClient) -> None:
    harness.world.faults.lose_requests(1, "GET", "/version")
    harness.world.faults.lose_answers(1, "GET", "/version")
    assert (await client.get("/version"))["version"] == "9.1.7"
    assert len(harness.world.calls) <= 3
    harness.world.faults.refuse(596, "Connection timed out", 2, "GET", "/version")
    assert (await client.get("/version"))["version"] == "9.1.7"


async def test_reading_is_given_up(harness: ProxmoxHarness, client: ProxmoxClient) -> None:
    harness.world.faults.lose_requests(MANY, "GET")
    with pytest.raises(Interrupted):
        await client.get("/version")
    assert len(harness.world.calls) == 3


@pytest.mark.parametrize("lost", ["request", "answer"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_changes_are_sent_once(harness: ProxmoxHarness, client: ProxmoxClient, lost: str, method: str) -> None:
    """Whether it was executed is not known; who sends it again may do it twice."""
    harness.world.add_vm(100, "other")
    lose = harness.world.faults.lose_requests if lost == "request" else harness.world.faults.lose_answers
    lose(1, method)
    calls: dict[str, Any] = {
        "POST": lambda: client.post(f"{QEMU}/100/status/start"),
        "PUT": lambda: client.put(f"{QEMU}/100/config", name="renamed"),
        "DELETE": lambda: client.delete(f"{QEMU}/100"),
    }
    with pytest.raises(Interrupted) as wrong:
        await calls[method]()
    assert isinstance(wrong.value, Temporary) and "again" in wrong.value.hint
    assert [one for one, _, _ in harness.world.calls] == [method]


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_after_a_lost_answer_is_looked_and_not_created_twice(harness: ProxmoxHarness, lost: str) -> None:
    lose = harness.world.faults.lose_requests if lost == "request" else harness.world.faults.lose_answers
    lose(1, "POST", QEMU)
    with pytest.raises(Temporary):
        await harness.provider().create(harness.spec("w-1"))
    assert harness.changes().count(("POST", QEMU)) == 1
    await harness.provider().create(harness.spec("w-1"))
    assert harness.changes().count(("POST", QEMU)) == (2 if lost == "request" else 1)
    assert list(harness.world.vms) == [3000]


# What is sent


async def test_parameters_of_delete_are_in_the_query(harness: ProxmoxHarness, client: ProxmoxClient) -> None:
    """A DELETE with a body is refused; one without its parameters leaves the VM of high availability alone."""
    harness.world.add_vm(100, "managed")
    harness.world.ha["vm:100"] = HaResource("vm:100")
    with pytest.raises(TalosmithError, match="purge parameter not set"):
        await client.delete(f"{QEMU}/100")
    await follow(client, await client.delete(f"{QEMU}/100", purge=1), "delete")
    assert not harness.world.vms and not harness.world.ha


@pytest.mark.parametrize("as_file", [True, False])
async def test_uploads_have_their_fields_first(
    harness: ProxmoxHarness, client: ProxmoxClient, as_file: bool, tmp_path: Path
) -> None:
    """Fields after the file are lost on Proxmox VE, and so in the simulator: then there is no content type."""
    data = b"an image" * 100_000
    file = tmp_path / "seed.iso"
    file.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    upid = await client.upload("pve", "local", "iso", "seed.iso", file if as_file else data, digest)
    await follow(client, upid, "upload")
    assert harness.world.volume_bytes("local:iso/seed.iso") == data
    (task,) = harness.world.tasks.all.values()
    assert any("checksum verified" in line for line in task.log), "the checksum was lost on the way"


async def test_an_upload_that_was_damaged_is_an_error(harness: ProxmoxHarness, client: ProxmoxClient) -> None:
    upid = await client.upload("pve", "local", "iso", "seed.iso", b"damaged", "0" * 64)
    with pytest.raises(Temporary, match="upload seed: checksum mismatch: got"):
        await follow(client, upid, "upload seed")
    assert "local:iso/seed.iso" not in harness.world.volumes


async def test_a_large_upload_tells_how_far_it_is(
    client: ProxmoxClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_MIB", 16 * 1024)  # every 1 MiB instead of 64
    file = tmp_path / "large.iso"
    file.write_bytes(bytes(3 * 1024 * 1024 + 1))
    told: list[str] = []
    with reporting_to(told.append):
        await client.upload("pve", "local", "iso", "large.iso", file, hashlib.sha256(file.read_bytes()).hexdigest())
    assert told and all(text.startswith("uploading large.iso: ") and " of 192 MiB" in text for text in told)


# Tasks


async def test_warnings_are_a_success(harness: ProxmoxHarness, client: ProxmoxClient) -> None:
    harness.world.add_volume("local:100/vm-100-disk-0.raw", size=1024, vmid=100)
    harness.world.add_vm(
        100, "warned", scsi0="local:100/vm-100-disk-0.raw,iothread=1,size=1K", scsihw="virtio-scsi-pci"
    )
    upid = await client.post(f"{QEMU}/100/status/start")
    await follow(client, upid, "start")
    assert harness.world.tasks.all[upid].exit == "WARNINGS: 1" and harness.world.vms[100].status == "running"


async def test_an_error_of_a_task_is_as_good_as_one_of_the_call(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    upid = await client.post(f"{QEMU}/999/status/start")  # which Proxmox VE answers with 200
    with pytest.raises(Gone, match="start VM 999: Configuration file"):
        await follow(client, upid, "start VM 999")
    options: dict[str, Any] = {"vmid": 100, "ide2": "local:iso/gone.iso,media=cdrom"}
    with pytest.raises(Permanent, match=r"create: .*gone\.iso.* does not exist") as missing:
        await follow(client, await client.post(QEMU, **options), "create")
    assert "deleted from the storage" in missing.value.hint
    harness.world.add_vm(100, "here", net0="virtio=02:00:00:00:00:01,bridge=vmbr9")
    with pytest.raises(Permanent, match="bridge 'vmbr9' does not exist") as bridge:
        await follow(client, await client.post(f"{QEMU}/100/status/start"), "start")
    assert "`proxmox.bridge`" in bridge.value.hint


@pytest.mark.parametrize("end", ["unexpected status", "unable to get last line from task log"])
async def test_a_task_whose_worker_died_is_temporary(
    harness: ProxmoxHarness, client: ProxmoxClient, end: str
) -> None:
    harness.world.add_vm(100, "here")
    harness.world.faults.kill_tasks(1, "qmstart", end)
    with pytest.raises(Temporary, match=end):
        await follow(client, await client.post(f"{QEMU}/100/status/start"), "start")


async def test_answers_without_a_task_have_nothing_to_wait_for(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    await follow(client, None, "delete")
    assert not harness.world.calls


async def test_a_task_that_may_not_be_read_is_found_in_the_list(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    """Some servers let a token see its task while it runs, and no more once it has ended."""
    harness.world.add_vm(100, "here")
    denied = "Permission check failed (/nodes/pve, Sys.Audit)"
    harness.world.faults.refuse(403, denied, MANY, "GET", "/nodes/pve/tasks/*/status")
    harness.world.freeze()
    upid = await client.post(f"{QEMU}/100/status/start")
    following = asyncio.create_task(follow(client, upid, "start"))

    async def looked_twice() -> str:
        return "" if len(harness.world.calls) > 4 or following.done() else f"{len(harness.world.calls)} calls"

    await comes_true(looked_twice)
    assert not following.done(), "in the list, too, a task may still run"
    harness.world.clock.thaw()
    await following
    assert harness.world.vms[100].status == "running"
    with pytest.raises(Permanent, match="VM 100 already running"):
        await follow(client, await client.post(f"{QEMU}/100/status/start"), "start")
    with pytest.raises(Temporary, match="cannot be read") as lost:
        await follow(client, "UPID:pve:00000001:00000001:00000001:qmstart:100:somebody@pve:", "start")
    assert "Sys.Audit" in lost.value.hint


async def test_tasks_at_once_are_looked_at_together_and_each_has_its_own_end(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    world = harness.world
    bad = "virtio=02:00:00:00:00:01,bridge=vmbr9"
    for vmid in range(100, 106):
        world.add_vm(vmid, f"vm-{vmid}", **({"net0": bad} if vmid == 103 else {}))
    world.pace.durations["qmstart"] = 100.0
    upids = [await client.post(f"{QEMU}/{vmid}/status/start") for vmid in (*range(100, 106), 999)]
    world.calls.clear()
    following = [asyncio.create_task(follow(client, upid, "start")) for upid in upids]
    await asyncio.sleep(0)
    following[5].cancel()  # as a step that has run out of time: the others do not notice
    ends = await asyncio.gather(*following, return_exceptions=True)
    assert [type(end) for end in ends] == [
        type(None), type(None), type(None), Permanent, type(None), asyncio.CancelledError, Gone,
    ]  # fmt: skip
    assert "vmbr9" in str(ends[3]) and "999" in str(ends[6])
    looks = [path for _, path, _ in world.calls]
    assert "/nodes/pve/tasks" in looks and len(looks) < 7 * 3, looks


async def test_a_look_at_tasks_that_fails_is_told_to_all_who_wait(
    harness: ProxmoxHarness, client: ProxmoxClient
) -> None:
    world = harness.world
    for vmid in (100, 101):
        world.add_vm(vmid, f"vm-{vmid}")
    world.freeze()
    upids = [await client.post(f"{QEMU}/{vmid}/status/start") for vmid in (100, 101)]
    world.faults.lose_requests(3, "GET", "/nodes/pve/tasks")
    ends = await asyncio.gather(*(follow(client, upid, "start") for upid in upids), return_exceptions=True)
    assert [type(end) for end in ends] == [Interrupted, Interrupted]
    world.clock.thaw()
    world.settle()
    for upid in upids:
        await follow(client, upid, "start")


async def test_an_answer_that_nobody_expects_ends_the_wait(
    harness: ProxmoxHarness, client: ProxmoxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What looks at tasks for all who wait must not die in silence."""
    harness.world.add_vm(100, "here")
    harness.world.freeze()
    upid = await client.post(f"{QEMU}/100/status/start")

    async def odd(where: str, **_: object) -> list[int]:
        return [] if where.endswith("/log") else [1]

    monkeypatch.setattr(client, "get", odd)
    with pytest.raises(AttributeError):
        async with asyncio.timeout(10):
            await follow(client, upid, "start")


async def test_a_long_task_tells_how_far_it_is(
    harness: ProxmoxHarness, client: ProxmoxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_LOG_EVERY", 0.0)
    world = harness.world
    world.add_volume("local:import/talos.raw", size=8 * 1024 * 1024)
    world.freeze()
    told: list[str] = []

    def report(text: str) -> None:
        told.append(text)
        world.pass_time(0.003)

    with reporting_to(report):
        upid = await client.post(QEMU, vmid=100, scsi0="slow:0,import-from=local:import/talos.raw")
        await follow(client, upid, "create w-1")
    assert told[0] == "create w-1: waiting for Proxmox VE"
    percents = [int(text.removeprefix("create w-1: ").removesuffix(" %")) for text in told if text.endswith(" %")]
    assert percents == sorted(percents) and len(set(percents)) > 3 and percents[0] < 50 < percents[-1]


# Who hears the token


async def test_the_token_is_in_no_message_and_no_log(
    harness: ProxmoxHarness, client: ProxmoxClient, caplog: pytest.LogCaptureFixture
) -> None:
    secret = client.token.secret.reveal()
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "talosmith.calls")
    shown = [repr(client), str(client.token), repr(client.token)]
    for times, lose in ((3, harness.world.faults.lose_requests), (1, harness.world.faults.lose_answers)):
        lose(times, path="/access/permissions")
        try:
            await client.get("/access/permissions")
        except TalosmithError as problem:
            shown += [problem.hint, *traceback.format_exception(problem)]
    for status, text in ((401, "Authentication failed!"), (500, "some error"), (596, "Connection timed out")):
        harness.world.faults.refuse(status, text)
        with pytest.raises(TalosmithError) as wrong:
            await client.post("/nodes/pve/qemu")
        shown += [wrong.value.hint, *traceback.format_exception(wrong.value)]
    calls = [one.getMessage() for one in caplog.records if one.name == "talosmith.calls"]
    assert any("GET /access/permissions" in line for line in calls), "the log is not looked at"
    assert secret and secret not in "\n".join([*shown, caplog.text])


def another_certificate(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pve.simulated")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "another.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@asynccontextmanager
async def listening(context: ssl.SSLContext | None, port: int = 0) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that only listens: its port, and all that it was told."""
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if part := await reader.read(65536):
            heard.append(part)
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", port, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()


@pytest.mark.parametrize("connected_before", [True, False])
async def test_a_server_with_another_certificate_hears_nothing(tmp_path: Path, connected_before: bool) -> None:
    """Also where it takes the place of the right one while we are connected."""
    with proxmox(tmp_path) as harness:
        client = harness.client()
        if connected_before:
            await client.get("/version")
    async with listening(another_certificate(tmp_path), harness.server.port) as (_, heard):
        with pytest.raises(NotTrusted) as wrong:
            await client.get("/version")
        await client.close()
        assert not heard
    assert wrong.value.fingerprint and wrong.value.fingerprint != client.trust.fingerprint


async def test_proxies_of_the_environment_are_not_used(
    harness: ProxmoxHarness, client: ProxmoxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listening(None) as (port, heard):
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        assert await client.get("/version")
        assert not heard


async def test_a_host_that_cannot_be_reached_is_temporary_and_named() -> None:
    with unused_port() as port:
        for trust in (Trust(), Trust("0" * 64)):
            client = ProxmoxClient(f"https://127.0.0.1:{port}", Token("root@pam!lab", Secret("none")), trust)
            with pytest.raises(Temporary, match=f"127.0.0.1:{port} cannot be reached: connection refused"):
                await client.post("/nodes/pve/qemu")
            await client.close()


# The environment


def test_address_and_token_of_the_environment() -> None:
    environment = {
        "PROXMOX_VE_URL": "https://pve:8006", "PROXMOX_VE_API_TOKEN": "talos@pve!smith=0-1=2",
        "PROXMOX_VE_FINGERPRINT": "AA:BB",
    }  # fmt: skip
    client = connect(Section(node="pve"), None, environment)
    assert (str(client.url), client.token.id, client.token.user) == (
        "https://pve:8006",
        "talos@pve!smith=0-1",
        "talos@pve",
    )
    assert client.trust == Trust("aabb") and client.token.secret.reveal() == "2"
    own_ca = connect(Section(node="pve", ca="ca.pem"), None, environment)
    assert own_ca.trust == Trust("", "ca.pem"), "what the inventory says goes before the environment"


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        ({}, "PROXMOX_VE_URL"),
        ({"PROXMOX_VE_URL": "http://pve:8006"}, "PROXMOX_VE_URL"),
        ({"PROXMOX_VE_URL": "https://pve:8006"}, "PROXMOX_VE_API_TOKEN"),
        ({"PROXMOX_VE_URL": "https://pve:8006", "PROXMOX_VE_API_TOKEN": "talos@pve=secret"}, "PROXMOX_VE_API_TOKEN"),
    ],
)
def test_what_the_environment_lacks_is_named(environment: dict[str, str], names: str) -> None:
    with pytest.raises(UsageError) as wrong:
        connect(Section(node="pve"), None, environment)
    assert names in wrong.value.hint and "secret" not in str(wrong.value)
