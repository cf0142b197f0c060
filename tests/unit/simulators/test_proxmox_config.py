"""Configs: refused parameters, pending changes, hot-plugging, tags, as in the transcripts 01, 04, 05 and 09."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulators.proxmox import VM, Proxmox
from tests.unit.simulators.pve_client import Client

URL = "/nodes/pve/qemu/100"

REFUSED = {
    "name=under_score": "invalid format - value does not look like a valid DNS name\n",
    "net0=virtio=01:00:5e:00:00:01,bridge=vmbr0": (
        "invalid format - format error\nnet0.macaddr: invalid format - value does not look like a valid unicast MAC "
        "address\n\n"
    ),
    "scsi0=local:1,import-from=local:import/tiny.qcow2": (
        "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>"
    ),
    "scsi0=local:1,format=vdi": (
        "invalid format - format error\nscsi0.format: value 'vdi' does not have a value in the enumeration "
        "'raw, qcow, qed, qcow2, vmdk, cloop'\n"
    ),
    "memory=15": "invalid format - format error\nmemory.current: value must have a minimum value of 16\n",
    "ostype=nope": (
        "value 'nope' does not have a value in the enumeration 'other, wxp, w2k, w2k3, w2k8, wvista, win7, win8, "
        "win10, win11, l24, l26, solaris'"
    ),
    f"description={'x' * 8193}": "value may only be 8192 characters long",
    "agent=maybe": "invalid format - format error\nagent.enabled: type check ('boolean') failed - got 'maybe'\n",
    "onboot=yes": "type check ('boolean') failed - got 'yes'",
    "cpu=nosuchcpu": "invalid format - Built-in cputype 'nosuchcpu' is not defined (missing 'custom-' prefix?)\n",
    "machine=q36": "invalid format - format error\nmachine.type: value does not match the regex pattern\n",
    "bios=efi": "value 'efi' does not have a value in the enumeration 'seabios, ovmf'",
    "vmid=99": "invalid format - value does not look like a valid VM ID\n",
    "sshkeys=ssh-ed25519 AAAA test": "invalid format - invalid urlencoded string: ssh-ed25519 AAAA test\n",
}
TAKEN: dict[str, dict[str, Any]] = {
    "name=UPPER": {"name": "UPPER", "boot": " "},
    "name=a.b": {"name": "a.b"},
    "net0=virtio=bc:24:11:aa:bb:01,bridge=vmbr0": {
        "net0": "virtio=bc:24:11:aa:bb:01,bridge=vmbr0",
        "boot": "order=net0",
    },
    "scsi0=local:0.5": {"scsi0": "local:141/vm-141-disk-0.raw,size=512M", "boot": "order=scsi0"},
    "scsi0=local:1,size=5G": {"scsi0": "local:141/vm-141-disk-0.raw,size=1G"},
    "cores=99": {"cores": 99},
    "tags=UPPER;dup;dup": {"tags": "UPPER;dup;dup"},
    "boot=order=scsi9": {"boot": "order=scsi9"},
}
NOT_ROOT = {
    "args=-foo": "only root can set 'args' config",
    "hookscript=local:snippets/x.sh": "only root can set 'hookscript' config",
    "serial0=/dev/ttyS0": "only root can set 'serial0' config for real devices",
    "scsi0=/dev/sda": "Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.",
}


def create(client: Client, given: str) -> Any:
    name, _, value = given.partition("=")
    parameters: dict[str, Any] = {"vmid": 141} | {name: value}
    return client.ask("POST", "/nodes/pve/qemu", **parameters)


@pytest.mark.parametrize("given", REFUSED)
def test_refused(client: Client, given: str) -> None:
    answer = create(client, given)
    assert (answer.line, answer.errors) == (
        "400 Parameter verification failed.",
        {given.partition("=")[0]: REFUSED[given]},
    )


@pytest.mark.parametrize("given", TAKEN)
def test_taken(client: Client, given: str) -> None:
    client.task(create(client, given).data)
    assert client.get("/nodes/pve/qemu/141/config").items() >= TAKEN[given].items()


@pytest.mark.parametrize("given", NOT_ROOT)
def test_for_root_alone(client: Client, given: str) -> None:
    assert create(client, given).line == f"500 {NOT_ROOT[given]}"


@pytest.fixture
def vm(world: Proxmox) -> VM:
    disk = "local:100/vm-100-disk-0.raw"
    world.add_volume(disk, size=1 << 30)
    return world.add_vm(100, "web-1", "Lab;web", status="running", scsi0=f"{disk},size=1G", boot="order=scsi0")


def test_a_running_vm_keeps_changes_pending(client: Client, vm: VM) -> None:
    client.put(URL + "/config", memory=768, cores=2)
    rows = {row["key"]: row for row in client.get(URL + "/pending")}
    assert rows["memory"] == {"key": "memory", "value": "512", "pending": "768"}
    assert rows["cores"] == {"key": "cores", "value": 1, "pending": 2}
    assert client.get(URL + "/config")["cores"] == 2
    assert client.get(URL + "/config", current=1)["cores"] == 1
    client.put(URL + "/config", revert="memory")
    client.task(client.post(URL + "/status/stop"))
    assert client.get(URL + "/config", current=1).items() >= {"cores": 2, "memory": "512"}.items()


def test_tags_are_tidied_by_an_update(client: Client, vm: VM) -> None:
    assert client.get(URL + "/config")["tags"] == "Lab;web"
    upid = client.post(URL + "/config", tags="Zeta;alpha;ALPHA;web")
    assert client.task(upid)["exitstatus"] == "OK"
    assert client.log(upid) == ["update VM 100: -tags Zeta;alpha;ALPHA;web", "TASK OK"]
    assert client.get(URL + "/config")["tags"] == "alpha;web;zeta"


def test_a_refused_network_interface_stays_in_the_config(client: Client, vm: VM) -> None:
    client.put(URL + "/config", net1="virtio,bridge=vmbr0")
    answer = client.ask("PUT", URL + "/config", net2="virtio,bridge=vmbr9")
    assert (answer.status, list(answer.errors)) == (400, ["net2"])
    assert client.get(URL + "/config")["net2"].endswith(",bridge=vmbr9")
    client.task(client.post(URL + "/status/stop"))
    start = client.task(client.post(URL + "/status/start"))
    assert start["exitstatus"] == "bridge 'vmbr9' does not exist"
    client.put(URL + "/config", delete="net2,net1")
    assert client.task(client.post(URL + "/status/start"))["exitstatus"] == "OK"


def test_disks_are_plugged_grown_and_kept_when_taken_out(world: Proxmox, client: Client, vm: VM) -> None:
    client.put(URL + "/config", scsi1="local:1")
    assert client.get(URL + "/config", current=1)["scsi1"] == "local:100/vm-100-disk-1.raw,size=1G"
    assert client.task(client.put(URL + "/resize", disk="scsi1", size="1536M"))["exitstatus"] == "OK"
    assert client.get(URL + "/config")["scsi1"].endswith("size=1536M")
    shrunk = client.put(URL + "/resize", disk="scsi1", size="1G")
    assert client.task(shrunk)["exitstatus"] == "shrinking disks is not supported"
    assert client.ask("PUT", URL + "/resize", disk="scsi1", size="abc").errors == {
        "size": "value does not match the regex pattern"
    }
    client.put(URL + "/config", delete="scsi1")
    assert client.get(URL + "/config")["unused0"] == "local:100/vm-100-disk-1.raw"
    client.put(URL + "/config", delete="unused0")
    assert "local:100/vm-100-disk-1.raw" not in world.volumes


def test_what_a_change_may_not_be(client: Client, vm: VM) -> None:
    assert client.ask("PUT", URL + "/config").line == "500 no options specified"
    assert client.ask("PUT", URL + "/config", delete="nosuchopt").errors == {"delete": "unknown option 'nosuchopt'"}
    stale = client.ask("PUT", URL + "/config", cores=1, digest="0" * 40)
    assert stale.line == "500 checksum mismatch (file change by other user?)"
    fresh = client.get(URL + "/config")["digest"]
    assert client.put(URL + "/config", cores=1, digest=fresh) is None


def test_a_json_body_is_taken(client: Client, vm: VM) -> None:
    kind = {"Content-Type": "application/json"}
    client.ask("PUT", URL + "/config", body=b'{"description": "json body", "onboot": true}', headers=kind)
    assert client.get(URL + "/config").items() >= {"description": "json body", "onboot": 1}.items()


def test_a_cloud_init_drive(client: Client, vm: VM) -> None:
    client.task(client.post(URL + "/status/stop"))
    client.put(URL + "/config", ide2="local:cloudinit", ciuser="deb", sshkeys="ssh-ed25519%20AAAA")
    assert client.get(URL + "/config")["ide2"] == "local:100/vm-100-cloudinit.qcow2,media=cdrom"
