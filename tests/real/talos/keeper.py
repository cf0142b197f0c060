"""The process that owns a lab of real nodes: its network, registry, discovery service and every node's launcher.

`python -m tests.real.talos.keeper INDEX FOLDER OWNER_PID`. Tests of all pytest workers talk to it over a socket in
the folder (`lab.py`). When the owner, the test run, has ended in whatever way, it stops every node and removes all
traces. If it is killed itself, the kernel ends its children, and the next lab of the same index removes the rest.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.real.talos import images, linux, registry, rootfs
from tests.real.talos.network import FIRST_NODE, LAST_NODE, Network
from tests.real.talos.node_spec import STATE, NodeSpec
from tests.real.talos.releases import RELEASES
from tools.peers import find
from tools.peers.machine import cgroup2

SOCKET = "socket"
READY = "ready"
PROCESS = "keeper.pid"
DISCOVERY_PORT = 3000
TALOS_IMAGES_PORT, ALL_IMAGES_PORT = 5000, 5001
_END_OF_A_NODE = 120  # seconds; far more than the kernel takes


class Keeper:
    def __init__(self, index: int, folder: Path) -> None:
        self.network = Network(index)
        self._folder = folder
        self._rootfs = folder / "rootfs"  # one for each Talos version that nodes run
        self._specs: dict[str, NodeSpec] = {}
        self._launchers: dict[str, subprocess.Popen[bytes]] = {}
        self._discovery: subprocess.Popen[bytes] | None = None
        self._images: images.Store | None = None  # of Kubernetes, too
        self._offered: set[str] = set()
        tree = cgroup2()
        if tree is None:
            raise RuntimeError("no cgroup v2 tree")
        self._cgroup = tree / self.network.name

    @contextmanager
    def lab(self) -> Iterator[None]:
        """Everything but the nodes; at the end nothing is left of anything."""
        self.clear()
        try:
            self._make_lab()
            yield
        finally:
            for name in list(self._specs):
                self.cut_power(name)
            if self._discovery is not None:
                self._discovery.kill()
                self._discovery.wait()
            self.clear()

    def clear(self) -> None:
        """Remove what this lab, or a killed one of the same index, has made."""
        _end_cgroup(self._cgroup)
        self.network.remove()
        for name in ("nodes", "rootfs", "images", "shared"):
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def create(self, name: str, release: str) -> str:
        """A machine that is switched off; returns its name, which is its host name."""
        taken = {spec.address for spec in self._specs.values()}
        host = next(n for n in range(FIRST_NODE, LAST_NODE) if self.network.address(n) not in taken)
        name = name or f"node-{host}"
        if name in self._specs:
            raise ValueError(f"there is a node {name} already")
        folder = self._folder / "nodes" / name
        folder.mkdir(mode=0o700)
        spec = NodeSpec(
            name=name,
            release=release,
            folder=str(folder),
            rootfs=str(self._rootfs_of(release)),
            cgroup=str(self._cgroup / name),
            address=self.network.address(host),
            prefix=self.network.prefix,
            gateway=self.network.gateway,
            mac=self.network.mac(host),
            hub=self.network.name,
            port=f"node{host}",
            pods=f"10.244.{host}.0/24",
        )
        spec.save()
        self._specs[name] = spec
        return name

    def describe(self, name: str) -> dict[str, Any]:
        return asdict(self._specs[name])

    def start(self, name: str) -> None:
        if self._running(name):
            return
        spec = self._specs[name]
        Path(spec.cgroup).mkdir(exist_ok=True)
        with Path(spec.folder, "console.log").open("ab") as console:
            self._launchers[name] = subprocess.Popen(
                [sys.executable, "-m", "tests.real.talos.launcher", spec.folder, str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
            )

    def cut_power(self, name: str) -> None:
        """The node is gone at once, with whatever it had not yet written."""
        launcher = self._launchers.pop(name, None)
        if launcher is not None:
            launcher.kill()
            launcher.wait()
        spec = self._specs[name]
        _end_cgroup(Path(spec.cgroup))
        Path(spec.folder, STATE).unlink(missing_ok=True)

    def wipe(self, name: str) -> None:
        """What the node kept over reboots is lost; it starts in maintenance mode."""
        self.cut_power(name)
        shutil.rmtree(Path(self._specs[name].folder, "kept"), ignore_errors=True)

    def remove(self, name: str) -> None:
        self.cut_power(name)
        shutil.rmtree(self._specs.pop(name).folder)

    def status(self, name: str) -> dict[str, Any]:
        state = Path(self._specs[name].folder, STATE)
        told = json.loads(state.read_text()) if state.exists() else {"boots": 0, "init": None}
        return {"running": self._running(name), **told}

    def offer_kubernetes(self, release: str) -> None:
        """Serve the images of Kubernetes, too, at a port of their own; made only when somebody needs them."""
        if release in self._offered:
            return
        if self._images is None:
            self._images = images.Store(self._folder / "images" / "all")
            self._images.add(images.PAUSE)
            registry.serve(self._images, self.network.gateway, ALL_IMAGES_PORT)
        for image in (images.etcd(RELEASES[release]), images.kubernetes(RELEASES[release])):
            self._images.add(image)
        self._offered.add(release)

    def _make_lab(self) -> None:
        (self._folder / "nodes").mkdir()
        self._cgroup.mkdir()
        self._delegate_controllers()
        self.network.make()
        self._discovery = self._start_discovery()  # before the registry's threads: preexec_fn and threads do not mix
        store = images.Store(self._folder / "images" / "talos")
        for image in (images.PAUSE, images.IDLE_KUBELET, *map(images.etcd, RELEASES.values())):
            store.add(image)
        registry.serve(store, self.network.gateway, TALOS_IMAGES_PORT)

    def _rootfs_of(self, release: str) -> Path:
        root = self._rootfs / release
        if not root.exists():
            rootfs.assemble(root, RELEASES[release])
        return root

    def _running(self, name: str) -> bool:
        launcher = self._launchers.get(name)
        return launcher is not None and launcher.poll() is None

    def _start_discovery(self) -> subprocess.Popen[bytes]:
        with (self._folder / "discovery.log").open("wb") as log:
            return subprocess.Popen(
                [find("talos-discovery"), "-listen", f"{self.network.gateway}:{DISCOVERY_PORT}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=lambda: linux.die_with_parent(signal.SIGKILL),
            )

    def _delegate_controllers(self) -> None:
        """Where the cgroup v2 tree has controllers, nodes get them, as in any container."""
        available = (self._cgroup / "cgroup.controllers").read_text().split()
        for controller in available:
            (self._cgroup / "cgroup.subtree_control").write_text(f"+{controller}")


def serve(keeper: Keeper, folder: Path, owner: int) -> None:
    """Answer one request after the other until the owner is gone or somebody asks to stop."""
    alive = os.pidfd_open(owner)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / SOCKET))
        listener.listen()
        (folder / PROCESS).write_text(str(os.getpid()))
        (folder / READY).touch()
        while True:
            readable, _, _ = select.select([listener.fileno(), alive], [], [])
            if alive in readable:
                return
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as stream:
                line = stream.readline()
                if not line.strip():
                    return
                stream.write(_answer(keeper, json.loads(line)) + "\n")


def _answer(keeper: Keeper, request: list[str]) -> str:
    action, *arguments = request
    try:
        return json.dumps({"result": getattr(keeper, action)(*arguments)})
    except Exception as problem:  # the test that asked has to see it; the lab goes on for the others
        return json.dumps({"problem": f"{action} {' '.join(arguments)}: {problem!r}"})


def _end_cgroup(group: Path) -> None:
    """End every process in a cgroup and below, and remove it."""
    if not group.exists():
        return
    (group / "cgroup.kill").write_text("1")
    deadline = time.monotonic() + _END_OF_A_NODE
    while "populated 1" in (group / "cgroup.events").read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    for folder, _, _ in os.walk(group, topdown=False):
        Path(folder).rmdir()


def main(index: int, folder: Path, owner: int) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests; their end ends the lab
    for leftover in (SOCKET, READY):
        (folder / leftover).unlink(missing_ok=True)
    keeper = Keeper(index, folder)
    with keeper.lab():
        serve(keeper, folder, owner)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
