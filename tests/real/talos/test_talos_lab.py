"""The lab itself: what it lets through, what it leaves alone, and that nothing of it stays behind."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.real.talos import keeper, linux, rootfs
from tests.real.talos.fixtures import MakeNodes
from tests.real.talos.lab import API_PORT, LONG, PLACES, PROJECT, Lab, Node, locked, wait_until
from tests.real.talos.launcher import RefusedToStart, machine_namespaces, refuse_outside_a_node
from tests.real.talos.network import Network
from tests.real.talos.node_mounts import PRIVATE_PARAMETERS
from tests.real.talos.node_spec import NodeSpec
from tests.real.talos.releases import RELEASES, Release
from tools.peers import find
from tools.peers.machine import cgroup2


def ip(arguments: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments.split()], capture_output=True, text=True, check=check)


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_init_is_refused_in_the_namespaces_of_the_machine() -> None:
    with pytest.raises(RefusedToStart):
        refuse_outside_a_node(machine_namespaces())
    with pytest.raises(RefusedToStart):  # new namespaces, but not their first process
        refuse_outside_a_node({"pid": 0, "mnt": 0})


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda release: release.talos)
def test_machined_cannot_be_started_by_accident(release: Release, talos_lab: Lab, tmp_path: Path) -> None:
    """Its file is not executable, and even a launcher does not get it to run below a root that is no node's."""
    assert find(release.machined).stat().st_mode & 0o111 == 0

    root = tmp_path / "rootfs"
    rootfs.assemble(root, release)
    (root / "usr/etc/in-container").unlink()
    node = talos_lab.create(release=release)
    stray = dataclasses.replace(NodeSpec.load(node.folder), folder=str(tmp_path), rootfs=str(root))
    stray.save()
    Path(stray.cgroup).mkdir()
    launch = [sys.executable, "-m", "tests.real.talos.launcher", stray.folder, str(os.getpid())]
    try:
        told = subprocess.run(launch, cwd=PROJECT, capture_output=True, text=True, timeout=LONG, check=False)
    finally:
        node.remove()
    assert "refused" in told.stderr
    assert "ended by exit code 1" in told.stdout


def test_nothing_that_nodes_send_leaves_the_machine(talos_lab: Lab) -> None:
    """In a network namespace that stands for a machine with forwarding on and a way out."""

    network = Network(190 + talos_lab.network.index)  # names of network namespaces are the machine's

    def routed() -> bool:
        route = f"route get 203.0.113.1 from {network.address(11)} iif {network.name}"
        return ip(route, check=False).returncode == 0

    def try_it() -> tuple[bool, bool]:
        linux.unshare(linux.NEW_NETWORK)  # of this thread alone
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        ip("link add outside type bridge")
        ip("address add 192.0.2.7/24 dev outside")
        ip("link set outside up")
        ip("route add default via 192.0.2.1")
        network.make()
        try:
            with_rule = routed()
            ip(f"rule delete iif {network.name} blackhole")
            return with_rule, routed()
        finally:
            network.remove()

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(try_it).result() == (False, True)
    assert f"iif {talos_lab.network.name} blackhole" in ip("rule").stdout


def test_a_node_leaves_the_kernel_parameters_of_the_machine_alone(talos_nodes: MakeNodes) -> None:
    def parameters() -> dict[str, str]:
        return {name: Path("/proc/sys", name).read_text() for name in PRIVATE_PARAMETERS}

    before = parameters()
    (node,) = talos_nodes(1)
    own = node.folder / "parameters" / "kernel.panic"
    wait_until(lambda: own.read_text().strip() == "10", LONG, lambda: "Talos has not set kernel.panic")
    assert parameters() == before


def test_the_console_tells_the_fingerprint_of_the_certificate(talos_nodes: MakeNodes) -> None:
    (node,) = talos_nodes(1)
    shown = x509.load_pem_x509_certificate(ssl.get_server_certificate((node.address, API_PORT)).encode())
    key = shown.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert node.fingerprint == base64.b64encode(hashlib.sha256(key).digest()).decode()


@pytest.fixture
def short_lived_owner() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]) as owner:
        yield owner
        owner.kill()


def test_nothing_stays_behind(talos_lab: Lab, short_lived_owner: subprocess.Popen[bytes]) -> None:
    first, node = _lab_with_a_node(short_lived_owner.pid)
    assert first.folder != talos_lab.folder
    init = node.init
    os.kill(int((first.folder / keeper.PROCESS).read_text()), signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{init}").exists(), LONG, lambda: "the node outlives its lab")

    second, node = _lab_with_a_node(short_lived_owner.pid, [first.network.index])
    assert second.folder == first.folder
    short_lived_owner.kill()
    short_lived_owner.wait()
    tree = cgroup2()
    assert tree is not None
    with locked(second.folder / "keeper.lock"):  # it has ended, and nobody makes another in its place
        assert not (tree / second.network.name).exists()
        assert not node.folder.exists()
        for listing in ("netns", "rule", "-6 rule", "link"):
            assert not re.search(rf"\b{second.network.name}\b", ip(listing).stdout)


def _lab_with_a_node(owner: int, places: Sequence[int] = range(PLACES)) -> tuple[Lab, Node]:
    own = Lab.attach(owner, places)
    node = own.create()
    node.start()
    node.wait_for_api()
    return own, node
