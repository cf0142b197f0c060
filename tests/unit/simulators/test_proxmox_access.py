"""Who may do what: privileges one by one as in transcript 10, tokens, lists that leave out what is not to be seen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulators.proxmox import Proxmox
from tests.unit.simulators.pve_client import Client

SPACE = "403 Permission check failed (/storage/local, Datastore.AllocateSpace)"
NETWORK = "403 Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)"
CONFIG = tuple(f"VM.Config.{what}" for what in ("Disk", "CDROM", "CPU", "Memory", "Network", "HWType", "Options"))


@pytest.fixture
def maker(world: Proxmox) -> str:
    world.add_token("maker@pve", "one", {"/vms": {"VM.Audit"}}, privsep=False)
    world.add_volume("local:iso/seed.iso", b"seed")
    return "one"


def create(client: Client, who: str, **more: Any) -> str:
    options: dict[str, Any] = {"scsi0": "local:1", "net0": "virtio,bridge=vmbr0"}
    options |= {"cores": 1, "memory": 64, "scsihw": "virtio-scsi-pci", "name": "cp-1"}
    return client.ask("POST", "/nodes/pve/qemu", who, vmid=150, **(options | more)).line


def test_privileges_step_by_step(world: Proxmox, client: Client, maker: str) -> None:
    user, held = "maker@pve", {"VM.Audit"}
    assert create(client, maker) == "403 Permission check failed"
    for privilege in ("VM.Allocate", *CONFIG):
        held.add(privilege)
        world.grant("/vms", user, held)
        assert create(client, maker) == SPACE
    world.grant("/storage/local", user, {"Datastore.AllocateSpace"})
    assert create(client, maker) == NETWORK
    world.grant("/storage/local", user, {"Datastore.AllocateSpace", "Datastore.Audit"})
    assert create(client, maker) == NETWORK
    world.grant("/sdn/zones/localnetwork", user, {"SDN.Use"})
    assert create(client, maker, startup="order=1") == "403 Permission check failed (/, Sys.Modify)"
    assert create(client, maker) == "200 OK"
    world.settle()
    url = "/nodes/pve/qemu/150"
    start = client.ask("POST", url + "/status/start", maker)
    assert start.line == "403 Permission check failed (/vms/150, VM.PowerMgmt)"
    clone = client.ask("POST", url + "/clone", maker, newid=151)
    assert clone.line == "403 Permission check failed (/vms/150, VM.Clone)"
    assert client.ask("DELETE", url, maker).status == 200


@pytest.mark.parametrize("missing", CONFIG)
def test_each_option_has_its_privilege(world: Proxmox, client: Client, maker: str, missing: str) -> None:
    world.grant("/", "maker@pve", world.access.privileges - {missing})
    world.access.acls = [acl for acl in world.access.acls if acl.path == "/"]
    answer = create(client, maker, ide2="local:iso/seed.iso,media=cdrom")
    assert answer == f"403 Permission check failed (/vms/150, {missing})"


def test_a_separated_token_has_what_both_have(world: Proxmox, client: Client) -> None:
    world.add_vm(100, "web-1")
    world.add_vm(101, "sep-vm")
    assert client.get("/cluster/resources", "sep", type="vm") == []
    assert client.get("/nodes/pve/qemu", "sep") == []
    assert client.get("/nodes/pve/tasks", "sep") == []
    hidden = client.ask("GET", "/nodes/pve/qemu/100/status/current", "sep")
    assert hidden.line == "403 Permission check failed (/vms/100, VM.Audit)"
    world.grant("/vms/101", "root@pam!sep", "LabVM")
    assert [row["vmid"] for row in client.get("/cluster/resources", "sep", type="vm")] == [101]
    assert client.get("/access/permissions", "sep") == {"/vms/101": {"VM.Audit": 1, "VM.PowerMgmt": 1}}
    changed = client.ask("PUT", "/nodes/pve/qemu/101/config", "sep", memory=256)
    assert changed.reason.startswith("Permission check failed (/vms/101, VM.Config.Disk|VM.Config.CDROM|")
    upid = client.post("/nodes/pve/qemu/101/status/start", "sep")
    assert client.task(upid, "sep")["status"] == "stopped"
    seen = client.ask("GET", f"/nodes/pve/tasks/{upid}/status", "limited")
    assert seen.line == "403 Permission check failed (/nodes/pve, Sys.Audit)"
    pinged = client.ask("POST", "/nodes/pve/qemu/101/agent/ping", "sep")
    assert pinged.line == "403 Permission check failed (/vms/101, VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted)"


def test_purging_takes_the_access_lists_along(world: Proxmox, client: Client) -> None:
    world.add_vm(101)
    world.grant("/vms/101", "root@pam!sep", "LabVM")
    client.task(client.ask("DELETE", "/nodes/pve/qemu/101", purge=1).data)
    assert "/vms/101" not in [acl["path"] for acl in client.get("/access/acl")]


def test_a_pool_gives_rights_on_its_vms(world: Proxmox, client: Client) -> None:
    world.add_vm(100)
    world.add_vm(101)
    world.add_pool("lab", 100)
    world.add_token("pooled@pve", "pool", {"/pool/lab": "PVEVMAdmin"})
    assert [row["vmid"] for row in client.get("/nodes/pve/qemu", "pool")] == [100]


def test_a_list_without_propagation_holds_for_its_path_alone(world: Proxmox, client: Client) -> None:
    world.add_vm(100)
    world.add_token("flat@pve", "flat", privsep=False)
    world.grant("/vms", "flat@pve", {"VM.Audit"}, propagate=False)
    assert client.get("/nodes/pve/qemu", "flat") == []
    assert client.get("/access/permissions", "flat", path="/vms") == {"/vms": {"VM.Audit": 0}}


def test_tokens_that_expire(world: Proxmox, client: Client) -> None:
    world.add_token("root@pam", "short", privsep=False, expire=world.now() + 60)
    assert client.ask("GET", "/version", "short").status == 200
    world.pass_time(61)
    expired = client.ask("GET", "/version", "short")
    assert (expired.line, expired.body) == ("401 Authentication failed!", None)
    world.faults.expire_token("root@pam!lab", after=2)
    assert [client.ask("GET", "/version").status for _ in range(3)] == [200, 200, 401]


@pytest.mark.parametrize("header", ["PVEAPIToken=", "PVEAPIToken=root@pam!lab", "PVEAPIToken=root@pam=x", "Basic x"])
def test_malformed_tokens(client: Client, header: str) -> None:
    answer = client.ask("GET", "/version", "none", headers={"Authorization": header})
    assert answer.line == ("401 No ticket" if header == "Basic x" else "401 Authentication failed!")


def test_tickets(world: Proxmox, client: Client) -> None:
    world.access.users["root@pam"].password = "right"
    wrong = client.ask("POST", "/access/ticket", "none", username="root@pam", password="wrong")
    assert (wrong.line, wrong.body["message"]) == ("401 authentication failure", "authentication failure\n")
    made = client.post("/access/ticket", "none", username="root@pam", password="right")
    cookie = {"Cookie": f"PVEAuthCookie={made['ticket']}"}
    assert client.ask("GET", "/version", "none", headers=cookie).status == 200
    forged = client.ask("POST", "/pools", "none", headers=cookie, poolid="lab")
    assert (forged.line, forged.body) == ("401 Permission denied - invalid csrf token", None)
    sure = cookie | {"CSRFPreventionToken": made["CSRFPreventionToken"]}
    assert client.ask("POST", "/pools", "none", headers=sure, poolid="lab").status == 200
