"""Power: what start, stop, shutdown and reboot do, as recorded in the transcripts 01, 02 and 07."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulators.proxmox import VM, Proxmox
from tests.unit.simulators.pve_client import Client

URL = "/nodes/pve/qemu/100"


class Seen:
    """Guests that only note what happens to them."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

    def started(self, vm: VM) -> None:
        self.events.append(("started", vm.vmid))

    def stopped(self, vm: VM) -> None:
        self.events.append(("stopped", vm.vmid))

    def destroyed(self, vm: VM) -> None:
        self.events.append(("destroyed", vm.vmid))


@pytest.fixture
def guests(world: Proxmox) -> Seen:
    seen = Seen()
    world.guests = seen
    return seen


@pytest.fixture
def vm(world: Proxmox) -> VM:
    return world.add_vm(100, "web-1")


def run(client: Client, what: str, **parameters: Any) -> str:
    return str(client.task(client.post(f"{URL}/status/{what}", **parameters))["exitstatus"])


def test_from_start_to_destruction(client: Client, vm: VM, guests: Seen) -> None:
    assert run(client, "start") == "OK"
    assert run(client, "start") == "VM 100 already running"
    assert client.ask("DELETE", URL, purge=1).line == "500 VM 100 is running - destroy failed"
    assert run(client, "stop") == "OK"
    assert run(client, "stop") == "OK"
    assert run(client, "shutdown") == "OK"
    for what in ("reset", "reboot"):
        assert client.ask("POST", f"{URL}/status/{what}").line == "500 VM 100 not running"
    upid = client.ask("DELETE", URL, purge=1).data
    assert client.task(upid)["exitstatus"] == "OK"
    assert client.log(upid) == ["purging VM 100 from related configurations..", "TASK OK"]
    assert guests.events == [("started", 100), ("stopped", 100), ("destroyed", 100)]


def test_a_guest_that_does_not_come_up(world: Proxmox, client: Client, vm: VM) -> None:
    class Broken(Seen):
        def started(self, vm: VM) -> None:
            raise OSError("no room")

    world.guests = Broken()
    assert run(client, "start") == "start failed: no room"
    assert vm.status == "stopped"


def test_a_guest_whose_agent_is_silent_hangs_until_its_time_is_out(client: Client, vm: VM) -> None:
    vm.config["agent"] = "1"
    run(client, "start")
    silent = "QEMU Guest Agent is not running - VM 100 qga command 'guest-ping' failed - got timeout"
    upid = client.post(f"{URL}/status/shutdown", timeout=3)
    assert client.task(upid)["exitstatus"] == "VM quit/powerdown failed - got timeout"
    assert client.log(upid)[0] == silent
    upid = client.post(f"{URL}/status/shutdown", timeout=3, forceStop=1)
    assert client.task(upid)["exitstatus"] == "OK"
    assert client.log(upid) == [silent, "VM still running - terminating now with SIGTERM", "TASK OK"]


def test_stop_is_locked_out_by_a_shutdown_unless_it_overrules(world: Proxmox, client: Client, vm: VM) -> None:
    vm.obeys_shutdown = False
    run(client, "start")
    shutdown = client.post(f"{URL}/status/shutdown", timeout=3600)
    world.pass_time(0.001)
    stop = client.post(f"{URL}/status/stop")
    world.pass_time(0.1)
    assert "got timeout" in world.tasks.all[stop].exit
    stop = client.post(f"{URL}/status/stop", overrule__shutdown=1)
    world.pass_time(0.1)
    assert (world.tasks.all[stop].exit, world.tasks.all[shutdown].exit) == ("OK", "interrupted by signal")
    assert vm.status == "stopped"


def test_a_reboot_ends_before_the_vm_is_back(world: Proxmox, client: Client, vm: VM) -> None:
    run(client, "start")
    assert run(client, "reboot", timeout=30) == "OK"
    assert client.get(f"{URL}/status/current")["status"] == "stopped"
    world.pass_time(1)
    world.settle()
    assert client.get(f"{URL}/status/current")["status"] == "running"
    rows = client.get("/nodes/pve/tasks", vmid=100)
    assert [(row["type"], row.get("tokenid")) for row in rows[:2]] == [("qmstart", None), ("qmreboot", "lab")]


def test_destroyed_in_the_gap_of_a_reboot(world: Proxmox, client: Client, vm: VM) -> None:
    run(client, "start")
    assert run(client, "reboot") == "OK"
    upid = client.ask("DELETE", URL).data
    assert client.task(upid)["exitstatus"] == "OK"
    world.pass_time(10)
    assert 100 not in world.vms


def test_what_keeps_a_vm_from_starting(world: Proxmox, client: Client, vm: VM) -> None:
    vm.config["net0"] = "virtio=BC:24:11:00:00:01,bridge=vmbr9"
    assert run(client, "start") == "bridge 'vmbr9' does not exist"
    del vm.config["net0"]
    world.nodes["pve"].kvm = False
    assert run(client, "start").startswith("KVM virtualisation configured, but not available.")
    vm.config["kvm"] = 0
    vm.template = True
    assert run(client, "start") == "you can't start a vm if it's a template"
    vm.template = False
    vm.config |= {"scsihw": "virtio-scsi-pci", "scsi0": "local:100/vm-100-disk-0.raw,iothread=1,size=1G"}
    world.add_volume("local:100/vm-100-disk-0.raw", size=1 << 30)
    assert run(client, "start") == "WARNINGS: 1"


def test_the_guest_agent(client: Client, vm: VM) -> None:
    ask = f"{URL}/agent/network-get-interfaces"
    assert client.ask("GET", ask).line == "500 No QEMU guest agent configured"
    vm.config["agent"] = "enabled=1"
    assert client.ask("GET", ask).line == "500 VM 100 is not running"
    run(client, "start")
    assert client.ask("GET", ask).line == "500 QEMU guest agent is not running"
    vm.agent_running, vm.interfaces = True, [{"name": "lo"}]
    assert client.get(ask) == {"result": [{"name": "lo"}]}
    assert client.ask("POST", f"{URL}/agent/ping").data == {"result": {}}
