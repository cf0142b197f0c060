"""Answers of the Proxmox VE API: each error has its message, its hint, and is temporary or permanent."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.providers.proxmox.client import ProxmoxClient
from talosmith.providers.proxmox.failures import Denied, Gone, Refused, Taken, Unanswered
from talosmith.providers.proxmox.tasks import follow
from tests.simulators.proxmox import Proxmox
from tests.unit.providers.proxmox.proxmox_harness import MANY, QEMU, ProxmoxHarness, proxmox

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pauses")]


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
