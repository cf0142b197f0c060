"""Calls of the Proxmox VE client: reads are repeated, changes are sent once, uploads have their fields first."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import TalosmithError, Temporary
from talosmith.providers.progress import reporting_to
from talosmith.providers.proxmox import client as client_module
from talosmith.providers.proxmox.client import ProxmoxClient
from talosmith.providers.proxmox.failures import Interrupted
from talosmith.providers.proxmox.tasks import follow
from tests.simulators.proxmox import HaResource
from tests.unit.providers.proxmox.proxmox_harness import MANY, QEMU, ProxmoxHarness

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pauses")]


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
