"""`talosmith up` on a KVM host, whole: the how-to followed to the letter, over real virtual machines.

The host is the tests' own, with a bridge `br0` and a pool `default` as the how-to wants them. Of the example only
what would cost too much here is changed: the machines are small, and boot a small guest instead of Talos.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from talosmith.providers.libvirt.connection import libvirt
from talosmith.providers.libvirt.domain import read
from tests.real.libvirt.daemon import Daemon
from tests.real.libvirt.nodes_behind import NodesBehind, nodes_behind
from tests.real.libvirt.waking import woken
from tests.waiting import comes_true, until

ROOT = Path(__file__).parents[3]
HOW_TO = ROOT / "docs" / "howto" / "libvirt.md"
EXAMPLE = "examples/libvirt-ha"
CONTROL_PLANES = {f"talos-cp-{number}": f"10.0.0.{69 + number}" for number in (1, 2, 3)}
WORKERS = {f"talos-w-{number}": f"10.0.0.{79 + number}" for number in (1, 2, 3)}
NODES = CONTROL_PLANES | WORKERS
HOST, VIP = "10.0.0.1", "10.0.0.100"
POOL = "/var/lib/libvirt/images"
_LATE = re.compile(r"does not answer|no answer|nothing answers|no connection|connection refused|timeout")


@dataclass(frozen=True)
class Shell:
    """On the host, in a folder with the example below it."""

    daemon: Daemon
    folder: Path
    home: Path
    tools: str  # where programs are found

    async def run(self, line: str, typed: str = "") -> tuple[int, str]:
        """`typed` is what the person at the terminal types."""
        ours, theirs = os.openpty()
        os.write(ours, typed.encode())
        process = await asyncio.create_subprocess_exec(
            *self.daemon.command("sh", "-c", f"cd {self.folder} && {line}"),
            env={"HOME": str(self.home), "PATH": f"{self.tools}:{os.environ['PATH']}"},
            stdin=theirs, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:
            out, _ = await process.communicate()
        except BaseException:
            process.kill()
            raise
        finally:
            os.close(ours)
            os.close(theirs)
        return process.returncode or 0, out.decode()

    async def must(self, line: str, typed: str = "") -> str:
        code, said = await self.run(line, typed)
        assert code == 0, f"{line}: {code}\n{said}"
        return said


@pytest.fixture
def shell(daemon: Daemon, guest: Path, peer: Callable[[str], Path], tmp_path: Path) -> Iterator[Shell]:
    tools = f"{Path(sys.executable).parent}:{peer('kubectl').parent}"  # first: without the peer the test is skipped
    folder, home = tmp_path / "here", tmp_path / "home"
    home.mkdir()
    shutil.copytree(ROOT / EXAMPLE, folder / EXAMPLE)
    inventory = folder / EXAMPLE / "cluster.yaml"
    text = inventory.read_text()
    changes = {
        "  domain_type: auto": f"  domain_type: auto\n  image: {guest}",
        "  cpu: 2\n  ram: 4G": "  cpu: 1\n  ram: 1700M",
        "  cpu: 4\n  ram: 8G": "  cpu: 1\n  ram: 900M",
    }
    for before, after in changes.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    # Its chart cannot be pulled here; tests/lab/up/test_example_addons.py installs it.
    inventory.write_text(f"{text}\naddons: {{csi-driver-nfs: false}}\n")
    with how_to_host(daemon):
        yield Shell(daemon, folder, home, tools)


@contextmanager
def how_to_host(daemon: Daemon) -> Iterator[None]:
    """A host as the how-to wants it; as it was before at the end, also if not all of it could be made."""
    begin = (
        "ip link add br0 type bridge",
        f"ip address add {HOST}/24 dev br0",
        "ip link set br0 up",
        f"virsh pool-define-as default dir --target {POOL}",
        "virsh pool-build default",
        "virsh pool-start default",
    )
    end = ("virsh pool-destroy default", "virsh pool-undefine default", "ip link delete br0")
    try:
        for line in begin:
            daemon.run(*line.split())
        yield
    finally:
        daemon.run("sh", "-c", "; ".join(end))


class HostThatFails:
    """A host on which one command does not work."""

    def __init__(self, at: str) -> None:
        self.at = at
        self.ran: list[str] = []

    def run(self, *command: str) -> str:
        self.ran.append(" ".join(command))
        if self.at in self.ran[-1]:
            raise RuntimeError(self.at)
        return ""


@pytest.mark.parametrize("at", ["ip address add", "virsh pool-start"])
def test_a_host_that_could_not_be_made_ready_is_left_without_a_bridge(at: str) -> None:
    host = HostThatFails(at)
    with pytest.raises(RuntimeError, match=at), how_to_host(host):  # type: ignore[arg-type]
        pass
    assert host.ran[0] == "ip link add br0 type bridge" and host.ran[-1].endswith("ip link delete br0")


@pytest.mark.slow
async def test_the_how_to_brings_the_example_up_heals_it_and_takes_it_away(
    daemon: Daemon, shell: Shell, tmp_path: Path
) -> None:
    (lab := tmp_path / "lab").mkdir()
    connection = libvirt().open(daemon.uri)
    lines = re.findall(r"^\$ ((?:talosmith|kubectl) .+)$", HOW_TO.read_text(), re.MULTILINE)
    make_secrets, doctor, up, get_nodes, console, take_away, make_anew, destroy = lines
    pool = daemon.folder / "lib" / "images"
    async with woken(daemon), nodes_behind(daemon, lab, HOST) as nodes:
        await shell.must(make_secrets)
        said = await shell.must(doctor)
        assert "7 free" in said, said
        said = await shell.must(up, typed="y\n")
        assert "done in" in said and "create image" in said, said

        # Each node got its config from its own seed, at its own address; then the seeds were taken away.
        assert {one["name"]: one["address"] for one in nodes.told} == NODES
        assert {one["from"] for one in nodes.told} == {"seed"}
        assert len({one["config"] for one in nodes.told}) == len(NODES)
        for name in NODES:
            assert f"note: {name}: NoCloud seed with the machine config is detached and deleted" in said
        assert not list(pool.glob("*.iso"))
        domains = connection.listAllDomains()
        assert {one.name() for one in domains} == {f"talos-{name}" for name in NODES}
        assert all(one.autostart() for one in domains)

        # Kubernetes is reached where the kubeconfig says: at the address that one machine has besides its own.
        assert f"server: https://{VIP}:6443" in (shell.folder / EXAMPLE / "kubeconfig").read_text()
        await _vip_is_at_its_holder(daemon, connection, nodes)
        await _all_are_ready(shell, get_nodes)
        holder = nodes.holder(VIP)
        assert holder in CONTROL_PLANES

        # All is as it should be.
        await _nothing_is_to_do(shell)

        # What a machine wrote on its console is shown, whether its node answers or not.
        await _was_written(shell, console, "name talos-cp-1\n", "the guest is up\n")

        # One node is made anew, with its config from a new seed; the others do not notice.
        former = connection.lookupByName("talos-talos-w-1").UUIDString()
        said = await shell.must(take_away, typed="y\n")
        assert "cordon and drain" in said and "delete machine and disks" in said, said
        assert {one.name() for one in connection.listAllDomains()} == {f"talos-{name}" for name in NODES} - {
            "talos-talos-w-1"
        }
        nodes.lose_power("talos-w-1")
        said = await shell.must(make_anew, typed="y\n")
        assert (nodes.told[-1]["name"], nodes.told[-1]["from"]) == ("talos-w-1", "seed")
        assert connection.lookupByName("talos-talos-w-1").UUIDString() == nodes.told[-1]["uuid"] != former

        # The machine that has the VIP loses its power: another takes it. Switched on again, it boots from its disk,
        # for its seed is gone.
        connection.lookupByName(f"talos-{holder}").destroy()
        nodes.lose_power(holder)
        await comes_true(lambda: _fails(shell, f"{get_nodes} --request-timeout=30s"))
        assert nodes.holder(VIP) not in ("", holder)
        await _vip_is_at_its_holder(daemon, connection, nodes)
        # In the same run, the workers' disks grow: nothing is restarted for that.
        inventory = shell.folder / EXAMPLE / "cluster.yaml"
        inventory.write_text(inventory.read_text().replace("disk: 40G", "disk: 44G"))
        running = {name: connection.lookupByName(f"talos-{name}").ID() for name in WORKERS}
        said = await shell.must(f"talosmith up -i {EXAMPLE} --yes")
        assert "no reboot" in said and "talos-w-3: disks are larger" in said, said
        assert (nodes.told[-1]["name"], nodes.told[-1]["from"]) == (holder, "disk")
        for name, before in running.items():
            worker = connection.lookupByName(f"talos-{name}")
            assert (worker.ID(), worker.blockInfo("vda")[0]) == (before, 44 * 2**30)

        # Another is gone for good: its member leaves etcd, and a new machine joins in its place.
        other = next(name for name in CONTROL_PLANES if name not in (holder, nodes.holder(VIP)))
        lost = connection.lookupByName(f"talos-{other}")
        former = lost.UUIDString()
        lost.destroy()
        lost.undefine()
        nodes.lose_power(other)
        await shell.must(f"talosmith up -i {EXAMPLE} --yes")
        assert (nodes.told[-1]["name"], nodes.told[-1]["from"]) == (other, "seed")
        assert connection.lookupByName(f"talos-{other}").UUIDString() == nodes.told[-1]["uuid"] != former
        await _nothing_is_to_do(shell)

        await shell.must(destroy, typed="talos\n")
    assert not connection.listAllDomains() and not list(pool.iterdir())


async def _fails(shell: Shell, line: str) -> str:
    """What it said if it did."""
    code, said = await shell.run(line)
    return f"{code}: {said}" if code else ""


async def _all_are_ready(shell: Shell, get_nodes: str) -> None:
    async def look() -> str:
        code, said = await shell.run(get_nodes)
        rows = sorted(line.split()[:2] for line in said.splitlines()[1:])
        return "" if (code, rows) == (0, [[name, "Ready"] for name in sorted(NODES)]) else said

    await comes_true(look)


async def _nothing_is_to_do(shell: Shell) -> None:
    """Whoever answers too late, through a machine that is emulated, is asked again; else nothing is left."""

    async def look() -> str:
        code, said = await shell.run(f"talosmith plan -i {EXAMPLE}")
        assert code == 0 or _LATE.search(said), said
        return said if code else ""

    await comes_true(look)


async def _was_written(shell: Shell, console: str, part: str, end: str) -> None:
    async def look() -> str:
        said = await shell.must(console)
        return "" if part in said and said.endswith(end) else said

    await comes_true(look)


async def _vip_is_at_its_holder(daemon: Daemon, connection: Any, nodes: NodesBehind) -> None:
    """The guest whose node holds it takes it a little later, and the host learns of that when it talks to it."""

    async def look() -> str:
        await asyncio.to_thread(daemon.in_network, _knock_at_the_vip)
        told = json.loads(daemon.run("ip", "-j", "neighbour", "show", VIP) or "[]")
        holder = nodes.holder(VIP)
        right = bool(holder) and [one.get("lladdr") for one in told] == [_mac(connection, holder)]
        return "" if right else f"{holder!r} holds it, and the host knows {told}"

    await comes_true(look)


def _knock_at_the_vip() -> None:
    with suppress(OSError):
        socket.create_connection((VIP, 6443), timeout=5).close()


def _mac(connection: Any, name: str) -> str:
    return read(connection.lookupByName(f"talos-{name}").XMLDesc()).mac


async def test_who_is_in_the_way_is_seen_before_the_start(daemon: Daemon, shell: Shell) -> None:
    """Somebody in the bridge's network, who does not listen anywhere; and Docker."""
    await shell.must(f"talosmith secrets init -i {EXAMPLE}")
    somebody = subprocess.Popen(["unshare", "--net", "sleep", "3600"])
    try:
        there = Path(f"/proc/{somebody.pid}/ns/net")
        until(lambda: there.readlink() != Path("/proc/self/ns/net").readlink())
        for network, line in (
            (daemon.network, f"ip link add in-bridge type veth peer name outside netns {somebody.pid}"),
            (daemon.network, "ip link set in-bridge master br0 up"),
            (there, f"ip address add {WORKERS['talos-w-2']}/24 dev outside"),
            (there, "ip link set outside address 02:00:00:00:00:99 up"),
        ):
            subprocess.run(["nsenter", f"--net={network}", *line.split()], check=True)
        until(lambda: _is_in_bridge(daemon, "in-bridge"))
        daemon.run("ip", "link", "add", "docker0", "type", "bridge")
        code, said = await shell.run(f"talosmith doctor -i {EXAMPLE} -o json")
        found = {one["check"]: one for one in json.loads(said)["findings"]}
        assert (code, found["addresses"]["level"]) == (0, "warning"), said
        assert found["addresses"]["evidence"] == "10.0.0.81 (talos-w-2) is at 02:00:00:00:00:99"
        assert found["bridge"]["level"] == "ok"
        # So it is with Docker, where the kernel lets bridged packets pass the firewall.
        passes = daemon.run("sh", "-c", "cat /proc/sys/net/bridge/bridge-nf-call-iptables || true")
        assert ("forwarding" in found) is (passes.strip() == "1")
    finally:
        somebody.kill()
        somebody.wait()
        daemon.run("sh", "-c", "ip link delete docker0 || true")


def _is_in_bridge(daemon: Daemon, link: str) -> bool:
    """Frames pass: the kernel sees a link that has come up a little later."""
    (told,) = json.loads(daemon.run("ip", "-j", "-d", "link", "show", link))
    return bool(told["linkinfo"]["info_slave_data"]["state"] == "forwarding")
