"""Templates and clones, as recorded in transcript 03."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulators.proxmox import Proxmox
from tests.unit.simulators.pve_client import Client

URL = "/nodes/pve/qemu/100"


@pytest.fixture(autouse=True)
def source(world: Proxmox) -> None:
    world.add_vm(
        100,
        "web-1",
        "alpha;web",
        "made by hand",
        efidisk0="local:100/vm-100-disk-0.raw,efitype=4m,size=528K",
        scsi0="local:100/vm-100-disk-1.qcow2,size=25M",
        net0="virtio=BC:24:11:AA:BB:01,bridge=vmbr0",
        protection=1,
    )
    world.add_volume("local:100/vm-100-disk-0.raw", size=540672)
    world.add_volume("local:100/vm-100-disk-1.qcow2", b"contents", virtual=26214400)


def template(client: Client) -> None:
    assert client.task(client.post(URL + "/template"))["exitstatus"] == "OK"


def test_a_full_clone_has_ids_of_its_own_and_the_marks_of_its_source(world: Proxmox, client: Client) -> None:
    assert client.task(client.post(URL + "/clone", newid=101, name="clone-full", full=1))["exitstatus"] == "OK"
    old, new = client.get(URL + "/config"), client.get("/nodes/pve/qemu/101/config")
    assert (new["name"], new["tags"], new["description"]) == ("clone-full", "alpha;web", "made by hand")
    for option in ("net0", "smbios1", "vmgenid", "digest"):
        assert old[option] != new[option]
    assert new["scsi0"] == "local:101/vm-101-disk-1.qcow2,size=25M"
    assert "protection" not in new
    assert world.volume_bytes("local:101/vm-101-disk-1.qcow2") == b"contents"


def test_linked_clones_and_what_keeps_their_template(world: Proxmox, client: Client) -> None:
    world.vms[100].config["protection"] = 0
    template(client)
    again = client.ask("POST", URL + "/template")
    assert again.line == "500 you can't convert a template to a template"
    assert client.get(URL + "/config").items() >= {"template": 1}.items()
    assert client.task(client.post(URL + "/clone", newid=102))["exitstatus"] == "OK"
    linked = client.get("/nodes/pve/qemu/102/config")["scsi0"]
    assert linked == "local:100/base-100-disk-1.qcow2/102/vm-102-disk-1.qcow2,size=25M"
    rows = {row["volid"]: row for row in client.get("/nodes/pve/storage/local/content", content="images")}
    assert rows[linked.partition(",")[0]]["parent"] == "../100/base-100-disk-1.qcow2"
    used = client.task(client.ask("DELETE", URL).data)
    assert used["exitstatus"] == "base volume 'local:100/base-100-disk-1.qcow2' is still in use by linked cloned"
    client.task(client.ask("DELETE", "/nodes/pve/qemu/102").data)
    assert client.task(client.ask("DELETE", URL).data)["exitstatus"] == "OK"
    assert not list(world.volumes)


def test_refused_clones(client: Client) -> None:
    def line(url: str = URL, **parameters: Any) -> str:
        return client.ask("POST", url + "/clone", **parameters).line

    unsupported = "500 Linked clone feature is not supported for 'local:100/vm-100-disk-0.raw' (efidisk0)"
    assert line(newid=102, full=0) == unsupported
    assert line(newid=100) == "500 unable to create VM 100: config file already exists"
    assert line(newid=102, storage="nosuch", full=1) == "500 storage 'nosuch' does not exist"
    missing = "500 unable to find configuration file for VM 999 on node 'pve'"
    assert line("/nodes/pve/qemu/999", newid=102) == missing
    assert line(newid=102, full=0, storage="second") == "500 parameter 'storage' not allowed for linked clones"


def test_on_thin_lvm(world: Proxmox, client: Client) -> None:
    world.add_lvm_thin()
    client.task(client.post("/nodes/pve/qemu", vmid=200, scsi0="local-lvm:1", efidisk0="local-lvm:1"))
    assert client.get("/nodes/pve/qemu/200/config")["scsi0"] == "local-lvm:vm-200-disk-1,size=1G"
    client.task(client.post("/nodes/pve/qemu/200/template"))
    client.task(client.post("/nodes/pve/qemu/200/clone", newid=201))
    linked = client.get("/nodes/pve/qemu/201/config")["scsi0"]
    assert linked == "local-lvm:base-200-disk-1/vm-201-disk-1,size=1G"


def test_a_clone_that_is_cancelled_leaves_nothing(world: Proxmox, client: Client) -> None:
    upid = client.post(URL + "/clone", newid=101, full=1, bwlimit=1)
    world.pass_time(0.001)
    assert 101 in world.vms
    client.ask("DELETE", f"/nodes/pve/tasks/{upid}")
    assert client.task(upid)["exitstatus"] == "clone failed: interrupted by signal"
    assert 101 not in world.vms
    assert not world.volumes.of_vm(101)
