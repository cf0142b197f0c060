"""Clusters of several nodes, lists that lag behind, the older major version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulators.proxmox import Proxmox, serving
from tests.unit.simulators.pve_client import Client


@pytest.fixture
def pair() -> Proxmox:
    world = Proxmox(nodes=("pve", "pve2"))
    world.freeze()
    return world


@pytest.fixture
def first(pair: Proxmox) -> Iterator[Client]:
    with serving(pair) as server:
        client = Client(pair, server)
        yield client
        client.close()


def row(client: Client, vmid: int) -> dict[str, Any]:
    found: dict[str, Any] = next(row for row in client.get("/cluster/resources", type="vm") if row["vmid"] == vmid)
    return found


def test_any_node_passes_requests_on(pair: Proxmox, first: Client) -> None:
    upid = first.post("/nodes/pve2/qemu", vmid=100, scsi0="local:1")
    assert upid.startswith("UPID:pve2:")
    assert first.task(upid)["exitstatus"] == "OK"
    assert first.ask("GET", "/nodes/pve/qemu/100/config").line == (
        "500 Configuration file 'nodes/pve/qemu-server/100.conf' does not exist"
    )
    with serving(pair, node="pve2") as server:
        second = Client(pair, server)
        assert second.get("/nodes/pve2/qemu/100/config")["scsi0"].startswith("local:100/")
        local = {node["name"]: node["local"] for node in second.get("/cluster/status") if node["type"] == "node"}
        assert local == {"pve": 0, "pve2": 1}
        second.close()


def test_a_node_that_is_gone(pair: Proxmox, first: Client) -> None:
    pair.add_vm(100, node="pve2", status="running")
    pair.nodes["pve2"].online = False
    away = first.ask("GET", "/nodes/pve2/qemu/100/config")
    assert (away.line, away.body) == ("595 No route to host", None)
    assert row(first, 100)["status"] == "unknown"
    assert [node["status"] for node in first.get("/nodes")] == ["online", "offline"]
    pair.nodes["pve2"].online = True
    pair.nodes["pve2"].fault = "timeout"
    assert first.ask("GET", "/nodes/pve2/qemu/100/config").line == "596 Connection timed out"


def test_an_upload_to_another_node_is_a_task_of_the_one_that_was_asked(pair: Proxmox, first: Client) -> None:
    upid = first.upload("/nodes/pve2/storage/local/upload", [("content", "iso")], "x.iso", b"x").data
    assert upid.startswith("UPID:pve:")
    assert first.task(upid)["exitstatus"] == "OK"
    assert pair.volumes.find("local:iso/x.iso", "pve2")
    assert not pair.volumes.find("local:iso/x.iso", "pve")


def test_the_same_name_on_two_nodes_is_two_volumes_unless_shared(pair: Proxmox, first: Client) -> None:
    pair.add_volume("local:iso/x.iso", b"one", node="pve")
    pair.add_volume("local:iso/x.iso", b"two", node="pve2")
    assert pair.volume_bytes("local:iso/x.iso", "pve2") == b"two"
    pair.add_storage("nfs", "nfs", ("iso",), shared=True, path="/mnt/pve/nfs")
    pair.add_volume("nfs:iso/y.iso", b"both")
    for node in pair.nodes:
        assert [one["volid"] for one in first.get(f"/nodes/{node}/storage/nfs/content")] == ["nfs:iso/y.iso"]


def test_without_quorum_nothing_is_made(pair: Proxmox, first: Client) -> None:
    pair.quorate = False
    assert first.ask("POST", "/nodes/pve/qemu", vmid=100).line == "500 cluster not ready - no quorum?"


def test_the_list_lags_behind_but_for_tags_and_lock(world: Proxmox, client: Client) -> None:
    client.task(client.post("/nodes/pve/qemu", vmid=172, name="fresh", tags="t2"))
    assert row(client, 172).keys() == {"id", "node", "vmid", "type", "status", "tags"}
    world.pass_time(10)
    assert row(client, 172)["name"] == "fresh"
    client.put("/nodes/pve/qemu/172/config", name="renamed", tags="t3")
    client.task(client.post("/nodes/pve/qemu/172/status/start"))
    seen = row(client, 172)
    assert (seen["name"], seen["status"], seen["tags"]) == ("fresh", "stopped", "t3")
    assert client.get("/nodes/pve/qemu/172/status/current")["status"] == "running"
    world.pass_time(10)
    assert (row(client, 172)["name"], row(client, 172)["status"]) == ("renamed", "running")
    world.list_lag = 0
    client.put("/nodes/pve/qemu/172/config", name="again")
    assert row(client, 172)["name"] == "again"


def test_a_new_vm_may_not_be_listed_for_a_while(world: Proxmox, client: Client) -> None:
    world.list_delay = 60
    client.task(client.post("/nodes/pve/qemu", vmid=172))
    assert client.get("/cluster/resources", type="vm") == []
    world.pass_time(61)
    assert row(client, 172)["vmid"] == 172


def test_version_8() -> None:
    old = Proxmox(version="8.4.5")
    with serving(old) as server:
        client = Client(old, server)
        assert client.get("/version")["release"] == "8.4"
        answer = client.ask("GET", "/nodes/pve/qemu/999/config")
        assert answer.line == "500 Configuration file 'nodes/pve/qemu-server/999.conf' does not exist"
        assert answer.body == {"data": None}
        privileges = client.get("/access/permissions")["/"]
        assert "VM.Monitor" in privileges
        assert not any(name.startswith("VM.GuestAgent") for name in privileges)
        old.add_vm(100)
        pinged = client.ask("POST", "/nodes/pve/qemu/100/agent/ping", "limited")
        assert pinged.line == "403 Permission check failed (/vms/100, VM.Monitor)"
        client.close()


def test_pools(world: Proxmox, client: Client) -> None:
    world.add_vm(140)
    client.post("/pools", poolid="lab")
    assert client.ask("POST", "/pools", poolid="lab").line == "500 create pool failed: pool 'lab' already exists"
    client.put("/pools/lab", vms=140)
    assert [member["vmid"] for member in client.get("/pools/lab")["members"]] == [140]
    assert row(client, 140)["pool"] == "lab"
    full = client.ask("DELETE", "/pools/lab")
    assert full.line == "500 delete pool failed: pool 'lab' is not empty (contains VM 140)"
    missing = client.ask("POST", "/nodes/pve/qemu", vmid=142, pool="nosuch")
    assert missing.line == "403 Permission check failed (pool 'nosuch' does not exist)"


def test_high_availability(world: Proxmox, client: Client) -> None:
    world.add_vm(100)
    assert client.get("/cluster/ha/resources") == []
    client.post("/cluster/ha/resources", sid="vm:100", state="started")
    assert [one["sid"] for one in client.get("/cluster/ha/resources")] == ["vm:100"]
    assert client.get("/nodes/pve/qemu/100/status/current")["ha"] == {"managed": 1, "state": "started"}
    upid = client.post("/nodes/pve/qemu/100/status/start")
    assert client.task(upid)["type"] == "hastart"
    assert world.vms[100].status == "stopped"
    world.pass_time(1)
    assert world.vms[100].status == "running"
    assert client.ask("DELETE", "/nodes/pve/qemu/100").reason.startswith(
        "unable to remove VM 100 - used in HA resources"
    )
