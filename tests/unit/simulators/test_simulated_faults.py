"""What goes wrong: daemons that are down (transcripts 11 and 12), and faults that a test asks for."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.simulators.proxmox import Proxmox
from tests.unit.simulators.pve_client import Client

LOST = (http.client.RemoteDisconnected, ConnectionError, OSError)


def test_without_pvedaemon(world: Proxmox, client: Client) -> None:
    world.add_vm(100)
    world.faults.pvedaemon_down = True
    assert client.ask("GET", "/version").status == 200
    refused = client.ask("PUT", "/nodes/pve/qemu/100/config", cores=1)
    assert (refused.line, refused.body) == ("595 Connection refused", None)
    assert "Content-Length" not in refused.headers


def test_without_pmxcfs(world: Proxmox, client: Client) -> None:
    world.faults.pmxcfs_down = True
    text = "RPCEnvironment init request failed: Unable to load access control list: Connection refused"
    answer = client.ask("GET", "/version")
    assert (answer.line, answer.body) == (f"500 {text}", None)


def test_a_lost_answer_comes_after_the_effect(world: Proxmox, client: Client) -> None:
    world.faults.lose_answers(1, "POST", "/nodes/*/qemu")
    client.get("/version")
    with pytest.raises(LOST):
        client.post("/nodes/pve/qemu", vmid=100)
    assert 100 in world.vms
    client.post("/nodes/pve/qemu", vmid=101)


def test_a_lost_request_has_no_effect(world: Proxmox, client: Client) -> None:
    world.faults.lose_requests(1, "POST", "/nodes/*/qemu")
    with pytest.raises(LOST):
        client.post("/nodes/pve/qemu", vmid=100)
    assert 100 not in world.vms
    assert world.calls[-1] == ("POST", "/nodes/pve/qemu", "root@pam!lab")


def test_answers_to_order(world: Proxmox, client: Client) -> None:
    world.faults.refuse(596, "Connection timed out", times=2, path="/nodes/**")
    assert client.ask("GET", "/nodes").status == 200
    answers = [client.ask("GET", "/nodes/pve/version") for _ in range(3)]
    assert [answer.status for answer in answers] == [596, 596, 200]
    assert answers[0].body is None


@pytest.mark.parametrize("status", ["unexpected status", "unable to get last line from task log"])
def test_a_worker_that_dies(world: Proxmox, client: Client, status: str) -> None:
    world.faults.kill_tasks(1, "qmcreate", status)
    upid = client.post("/nodes/pve/qemu", vmid=100, scsi0="local:1")
    assert client.task(upid)["exitstatus"] == status
    assert not any(line.startswith("TASK") for line in client.log(upid))
    assert world.vms[100].lock == "create"


def test_some_percent_of_all_calls_fail_in_turn(world: Proxmox, client: Client) -> None:
    def outcomes() -> list[str]:
        world.faults.fail_percent(50, seed=7)
        found = []
        for _ in range(20):
            try:
                found.append(client.ask("GET", "/nodes/pve/qemu/100/config").line)
            except LOST:
                found.append("lost")
        return found

    world.add_vm(100)
    first = outcomes()
    assert outcomes() == first
    for kind in ("595 Connection refused", "596 Connection timed out", "599 Too many redirections", "lost"):
        assert kind in first
    assert 5 <= first.count("200 OK") <= 15
    world.faults.clear()
    assert client.ask("GET", "/version").status == 200


def test_slow_answers(world: Proxmox, client: Client) -> None:
    world.faults.slow(0.05, path="/version")
    before = time.monotonic()
    assert client.ask("GET", "/version").status == 200
    assert time.monotonic() - before >= 0.05


def test_real_delays_are_an_option() -> None:
    assert Proxmox(real_delays=True).pace.answer_scale == 1.0
    assert Proxmox(pace="recorded").pace.scale == 1.0
    assert Proxmox().pace.answer_scale < 0.01


def test_as_a_program() -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "tests.simulators.proxmox", "--nodes", "a,b"]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdin
        told = json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(30) == 0
    assert told["url"].startswith("https://127.0.0.1:")
    assert told["tokens"]["root"]["id"] == "root@pam!lab"
