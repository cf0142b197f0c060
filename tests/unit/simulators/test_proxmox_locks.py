"""Locks, and what is seen of VMs while tasks are under way, as recorded in the transcripts 02, 11 and 12."""

from __future__ import annotations

import threading

import pytest

from tests.simulators.proxmox import Proxmox
from tests.unit.simulators.pve_client import Client

VM = "/nodes/pve/qemu/100"
BUSY = "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout"


@pytest.fixture(autouse=True)
def some_vm(world: Proxmox) -> None:
    world.add_vm(100, "web-1", "alpha;web", "made by hand", kvm=0, scsi1="local:100/vm-100-disk-0.raw,size=1G")
    world.add_volume("local:100/vm-100-disk-0.raw", size=1 << 30)
    world.add_volume("local:import/tiny.qcow2", size=16657408, virtual=26214400)


def test_a_held_lock_file_fails_calls_and_tasks(world: Proxmox, client: Client) -> None:
    world.faults.hold_flock(100)
    assert client.ask("PUT", VM + "/config", cores=1).line == f"500 {BUSY}"
    assert client.ask("POST", "/nodes/pve/qemu", vmid=100).line == f"500 unable to create VM 100 - {BUSY}"
    for upid in (client.post(VM + "/status/start"), client.ask("DELETE", VM).data):
        assert client.task(upid)["exitstatus"] == BUSY
        assert client.log(upid) == ["trying to acquire lock...", f"TASK ERROR: {BUSY}"]
    world.faults.release_flock(100)
    assert client.put(VM + "/config", cores=1) is None


def test_a_call_waits_for_a_lock_file(world: Proxmox, client: Client) -> None:
    world.pace.answer_scale = 1.0
    world.faults.hold_flock(100, seconds=5)
    timer = threading.Timer(0.05, lambda: world.pass_time(6))
    timer.start()
    assert client.put(VM + "/config", cores=1) is None
    timer.join()


def test_a_lock_in_the_config(world: Proxmox, client: Client) -> None:
    world.vms[100].lock = "backup"
    assert client.ask("PUT", VM + "/config", cores=1).line == "500 VM is locked (backup)"
    start, resize = client.post(VM + "/status/start"), client.put(VM + "/resize", disk="scsi1", size="+1G")
    destroy = client.ask("DELETE", VM).data
    assert {client.task(upid)["exitstatus"] for upid in (start, resize, destroy)} == {"VM is locked (backup)"}
    assert client.ask("PUT", VM + "/config", delete="lock").line == "500 only root can set 'lock' config"
    refused = client.ask("PUT", VM + "/config", delete="lock", skiplock=1)
    assert refused.errors == {"skiplock": "Only root may use this option."}


def test_a_vm_under_creation_has_neither_name_nor_tags(world: Proxmox, client: Client) -> None:
    disk = "slow:0,import-from=local:import/tiny.qcow2,format=qcow2"
    upid = client.post("/nodes/pve/qemu", vmid=171, name="slowc", memory=64, tags="t1", scsi0=disk)
    world.pass_time(0.01)
    config = client.get("/nodes/pve/qemu/171/config")
    assert config == {"lock": "create", "digest": "a7e9f8c42935261b36fcd1d7d6cd8cd41648da49"}
    row = next(row for row in client.get("/cluster/resources", type="vm") if row["vmid"] == 171)
    assert row == {
        "id": "qemu/171",
        "node": "pve",
        "vmid": 171,
        "lock": "create",
        "status": "unknown",
        "type": "qemu",
    }
    assert client.get("/nodes/pve/qemu/171/status/current")["name"] == "VM 171"
    active = client.get("/nodes/pve/tasks", source="active")
    assert [(row["status"], row["user"], row["upid"]) for row in active] == [("RUNNING", "root@pam!lab", upid)]
    assert client.get("/nodes/pve/tasks", vmid=171) == []


def test_a_cancelled_create_frees_the_id(world: Proxmox, client: Client) -> None:
    disk = "slow:0,import-from=local:import/tiny.qcow2,format=qcow2"
    upid = client.post("/nodes/pve/qemu", vmid=171, scsi0=disk)
    world.pass_time(0.01)
    assert any(volume.startswith("slow:171/") for volume in world.volumes)
    assert client.ask("DELETE", f"/nodes/pve/tasks/{upid}").data is None
    status = client.get(f"/nodes/pve/tasks/{upid}/status")
    assert status["exitstatus"] == (
        "unable to create VM 171 - cannot import from 'local:import/tiny.qcow2' - copy failed: command "
        "'/usr/bin/qemu-img convert -p -n -r 400K -f qcow2 -O qcow2 /var/lib/vz/import/tiny.qcow2 "
        "zeroinit:/var/lib/vzslow/images/171/vm-171-disk-0.qcow2' failed: received interrupt"
    )
    assert not any(volume.startswith("slow:171/") for volume in world.volumes)
    assert client.get("/cluster/nextid", vmid=171) == "171"
    gone = client.ask("GET", "/nodes/pve/qemu/171/config")
    assert gone.line == "500 Configuration file 'nodes/pve/qemu-server/171.conf' does not exist"


def test_a_clone_under_way_carries_the_marks_of_its_source(world: Proxmox, client: Client) -> None:
    upid = client.post(VM + "/clone", newid=170, name="slow", full=1, bwlimit=1)
    world.pass_time(0.01)
    config = client.get("/nodes/pve/qemu/170/config")
    assert (config["lock"], config["tags"], config["description"]) == ("clone", "alpha;web", "made by hand")
    row = next(row for row in client.get("/cluster/resources", type="vm") if row["vmid"] == 170)
    assert (row["lock"], row["tags"], row["status"]) == ("clone", "alpha;web", "unknown")
    start = client.post("/nodes/pve/qemu/170/status/start")
    busy = BUSY.replace("100", "170")
    assert client.ask("PUT", "/nodes/pve/qemu/170/config", cores=2).line == f"500 {busy}"
    world.pass_time(0.025)
    assert world.tasks.all[start].exit == busy
    assert client.task(upid)["exitstatus"] == "OK"
    assert "lock" not in client.get("/nodes/pve/qemu/170/config")


def test_of_parallel_creates_of_one_id_one_succeeds(world: Proxmox, client: Client) -> None:
    world.clock.thaw()
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.ask("POST", "/nodes/pve/qemu", vmid=120)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [200, 500, 500]
    refused = {answer.reason for answer in answers if answer.status == 500}
    assert refused == {"unable to create VM 120 - VM 120 already exists on node 'pve'"}
