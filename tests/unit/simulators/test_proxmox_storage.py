"""Uploads, downloads and volumes, as recorded in the transcripts 04, 06 and 09."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tests.simulators.proxmox import Proxmox
from tests.unit.simulators.pve_client import Answer, Client

URL = "/nodes/pve/storage/local"


def send(client: Client, name: str, content: bytes, kind: str = "iso", who: str = "root", url: str = URL) -> Answer:
    return client.upload(url + "/upload", [("content", kind)], name, content, who)


def test_an_upload_is_there_when_its_task_is_done(world: Proxmox, client: Client) -> None:
    upid = send(client, "seed.iso", b"contents").data
    assert upid.split(":")[5:8] == ["imgcopy", "", "root@pam!lab"]
    assert "local:iso/seed.iso" not in world.volumes
    client.task(upid)
    assert world.volume_bytes("local:iso/seed.iso") == b"contents"
    assert world.volume_path("local:iso/seed.iso").read_bytes() == b"contents"
    client.task(send(client, "seed.iso", b"other").data)
    assert world.volume_bytes("local:iso/seed.iso") == b"other"


def test_a_large_upload_is_kept_in_a_file(world: Proxmox, client: Client) -> None:
    content = b"0123456789abcdef" * 400_000
    fields = [("content", "iso"), ("checksum-algorithm", "sha512"), ("checksum", hashlib.sha512(content).hexdigest())]
    upid = client.upload(URL + "/upload", fields, "large.iso", content).data
    assert client.task(upid)["exitstatus"] == "OK"
    volume = world.volumes["local:iso/large.iso"]
    assert volume.data is None
    assert volume.path
    assert world.volume_bytes("local:iso/large.iso") == content


def test_what_only_the_task_of_an_upload_finds(world: Proxmox, client: Client) -> None:
    upid = send(client, "x.qcow2", b"hello\n", "import").data
    assert client.task(upid)["exitstatus"].endswith("Image is not in qcow2 format")
    world.storages["local"].full = True
    upid = send(client, "x.iso", b"hello\n").data
    assert client.task(upid)["exitstatus"].startswith("import failed: command 'cp --")


def test_refused_uploads(world: Proxmox, client: Client) -> None:
    assert send(client, "x.txt", b"").errors == {"filename": "wrong file extension"}
    listed = "value 'images' does not have a value in the enumeration 'iso, vztmpl, import'"
    assert send(client, "x.raw", b"", "images").errors == {"content": listed}
    denied = send(client, "x.iso", b"", who="limited")
    assert denied.line == "403 Permission check failed (/storage/local, Datastore.AllocateTemplate)"
    assert denied.body is None
    world.add_lvm_thin()
    answer = send(client, "x.iso", b"", url="/nodes/pve/storage/local-lvm")
    assert answer.line == "500 storage 'local-lvm' does not support 'iso' content"


def test_bodies_that_are_not_read(client: Client) -> None:
    chunked = client.ask("POST", URL + "/upload", body=b"0\r\n\r\n", headers={"Transfer-Encoding": "chunked"})
    assert chunked.line == "501 chunked transfer encoding not supported"
    assert chunked.body == "chunked transfer encoding not supported"
    large = client.ask("PUT", "/nodes/pve/qemu/100/config", description="x" * 600_000)
    assert (large.line, large.body) == ("501 for data too large", "for data too large")
    assert client.ask("DELETE", "/nodes/pve/qemu/100", body=b"purge=1").status == 501


def test_a_missing_iso_is_deleted_without_complaint(client: Client) -> None:
    upid = client.ask("DELETE", URL + "/content/local:iso%2Fnone.iso").data
    assert client.task(upid)["exitstatus"] == "OK"
    assert client.log(upid) == [
        "disk image '/var/lib/vz/template/iso/none.iso' does not exist",
        "Removed volume 'local:iso/none.iso'",
        "TASK OK",
    ]


def test_downloads_by_the_node(world: Proxmox, client: Client) -> None:
    world.web["https://factory.example/x.iso"] = b"talos"
    given: dict[str, Any] = {"url": "https://factory.example/x.iso", "content": "iso", "filename": "x.iso"}
    assert client.get("/nodes/pve/query-url-metadata", url=given["url"])["size"] == 5
    assert client.task(client.post(URL + "/download-url", **given))["exitstatus"] == "OK"
    assert world.volume_bytes("local:iso/x.iso") == b"talos"
    again = client.task(client.post(URL + "/download-url", **given))
    assert again["exitstatus"].startswith("refusing to override existing file")
    world.add_token("loader@pve", "load", {"/storage/local": {"Datastore.AllocateTemplate"}})
    assert client.ask("POST", URL + "/download-url", "load", **given).line == "403 Permission check failed"
    more = {"/storage/local": {"Datastore.AllocateTemplate"}, "/nodes": {"Sys.AccessNetwork"}}
    world.add_token("netter@pve", "net", more)
    assert client.ask("POST", URL + "/download-url", "net", **given).status == 200


@pytest.mark.parametrize(
    ("disk", "why"),
    [
        ("local:0,import-from=local:import/none.qcow2", "failed to stat '/var/lib/vz/import/none.qcow2'"),
        (
            "local:99999999",
            "unable to create image: qemu-img: /var/lib/vz/images/106/vm-106-disk-0.raw: "
            "The image size is too large for file format 'raw'",
        ),
    ],
)
def test_a_failed_create_cleans_up(world: Proxmox, client: Client, disk: str, why: str) -> None:
    upid = client.post("/nodes/pve/qemu", vmid=106, scsi0=disk)
    assert client.task(upid)["exitstatus"] == f"unable to create VM 106 - {why}"
    assert 106 not in world.vms
    assert not world.volumes.of_vm(106)


def test_a_full_storage_fails_an_import(world: Proxmox, client: Client) -> None:
    world.add_volume("local:import/talos.raw", size=1 << 30)
    world.storages["second"].avail = 1000
    upid = client.post("/nodes/pve/qemu", vmid=106, scsi0="second:0,import-from=local:import/talos.raw")
    assert client.task(upid)["exitstatus"].endswith("failed: exit code 1")
    assert 106 not in world.vms
    assert world.storages["second"].avail == 1000


def test_a_storage_that_is_not_there(world: Proxmox, client: Client) -> None:
    world.storages["second"].enabled = False
    world.storages["slow"].nodes = {"other"}
    disks = [f"{name}:1" for name in ("second", "slow", "nosuch")]
    lines = [client.ask("POST", "/nodes/pve/qemu", vmid=106, scsi0=disk).line for disk in disks]
    assert lines == [
        "500 storage 'second' is disabled",
        "500 storage 'slow' is not available on node 'pve'",
        "500 storage 'nosuch' does not exist",
    ]
