"""Real Talos nodes for tests: `Lab.attach()` gives the lab of this test run, which all its pytest workers share."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tests.real.talos import keeper, rootfs
from tests.real.talos.network import Network
from tests.real.talos.releases import NEWEST, RELEASES, Release
from tools.peers import find
from tools.peers.build import cache
from tools.peers.machine import can_make_namespaces, cgroup2

API_PORT = 50000
PROJECT = Path(__file__).parents[3]
PLACES = 8  # test runs on one machine at the same time
_START = 240
_KERNEL = (6, 15)  # the first that clones mounts which are mounted nowhere
LONG = 240.0  # seconds, for what takes a few of them on a quiet machine


class LabUnavailable(Exception):
    """Real nodes cannot run here; the message says why."""


def check_machine() -> None:
    """Raise unless real nodes can run on this machine, as this user, with the peers that are built."""
    if sys.platform != "linux":
        raise LabUnavailable("real Talos nodes need Linux")
    if os.geteuid() != 0 or not can_make_namespaces():
        raise LabUnavailable("real Talos nodes need root with CAP_SYS_ADMIN, for namespaces and mounts")
    tree = cgroup2()
    if tree is None or not os.access(tree, os.W_OK):
        raise LabUnavailable("real Talos nodes need a cgroup v2 tree below /sys/fs/cgroup that can be written to")
    if not shutil.which("ip"):
        raise LabUnavailable("real Talos nodes need the command `ip` (Debian: iproute2)")
    release, _, _ = os.uname().release.partition("-")
    if tuple(map(int, release.split(".")[:2])) < _KERNEL:
        raise LabUnavailable(f"real nodes of Talos 1.14 need Linux {'.'.join(map(str, _KERNEL))}; this is {release}")
    find("talos-discovery")
    for nodes in RELEASES.values():
        for peer in (*rootfs.peers(nodes), nodes.etcd_program, nodes.talosctl):
            find(peer)


@dataclass(frozen=True)
class Node:
    """One machine. It is off until `start`, and then in maintenance mode until somebody applies a config."""

    lab: Lab
    name: str
    release: Release
    address: str
    mac: str
    folder: Path

    def start(self) -> None:
        self.lab.ask("start", self.name)

    def cut_power(self) -> None:
        """Off at once, as when the power fails."""
        self.lab.ask("cut_power", self.name)

    def wipe(self) -> None:
        """Off, and everything it kept is lost."""
        self.lab.ask("wipe", self.name)

    def remove(self) -> None:
        self.lab.ask("remove", self.name)

    @property
    def running(self) -> bool:
        """Also true between the end of a boot and the next one; false after a shutdown."""
        return bool(self.lab.ask("status", self.name)["running"])

    @property
    def boots(self) -> int:
        return int(self.lab.ask("status", self.name)["boots"])

    @property
    def init(self) -> int | None:
        """The process id that the node's first process has on the machine, while there is one."""
        init = self.lab.ask("status", self.name)["init"]
        return None if init is None else int(init)

    @property
    def fingerprint(self) -> str:
        """Of the certificate that the node shows in maintenance mode, as its console tells it."""
        wait_until(
            lambda: bool(self._fingerprints()), LONG, lambda: f"{self.name} tells none:\n{self.console[-3000:]}"
        )
        return self._fingerprints()[-1]

    def _fingerprints(self) -> list[str]:
        return re.findall(r'"fingerprint": "([^"]+)"', self.console)

    @property
    def console(self) -> str:
        """Everything the node has written to its console since it was created."""
        return (self.folder / "console.log").read_text(errors="replace")

    def wait_for_api(self, seconds: float = LONG) -> None:
        wait_until(self._api_answers, seconds, lambda: f"no API on {self.name}:\n{self.console[-3000:]}")

    def wait_until_off(self, seconds: float = LONG) -> None:
        wait_until(lambda: not self.running, seconds, lambda: f"{self.name} is still on:\n{self.console[-3000:]}")

    def wait_for_boot(self, number: int, seconds: float = LONG) -> None:
        """Until the node has been started that many times since it was last switched on, and its API answers."""
        wait_until(
            lambda: self.boots >= number, seconds, lambda: f"no reboot of {self.name}:\n{self.console[-3000:]}"
        )
        self.wait_for_api()

    def _api_answers(self) -> bool:
        try:
            socket.create_connection((self.address, API_PORT), timeout=2).close()
        except OSError:
            return False
        return True


class Lab:
    def __init__(self, folder: Path, index: int) -> None:
        self.folder = folder
        self.network = Network(index)

    @classmethod
    def attach(cls, owner: int, places: Sequence[int] = range(PLACES)) -> Lab:
        """The lab of a test run; `owner` is the process whose end is the end of the lab."""
        check_machine()
        base = cache().parent / "nodes"
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        run = f"{owner} {_started(owner)}"
        with locked(base / "lock"):
            for index in places:
                folder = base / f"lab-{index}"
                folder.mkdir(exist_ok=True)
                with (folder / "keeper.lock").open("w") as lock:
                    if not _try_lock(lock):
                        if (folder / "run").read_text() == run:
                            return cls(folder, index)
                        continue
                    if Network(index).is_foreign():
                        continue
                    (folder / "run").write_text(run)
                    _start_keeper(folder, index, owner, lock)
                    return cls(folder, index)
        raise LabUnavailable(f"all places for labs of real nodes are taken: {list(places)}")

    def create(self, name: str = "", release: Release = NEWEST) -> Node:
        """A new machine, switched off. Without a name it gets one that no other has."""
        return self.node(self.ask("create", name, release.line))

    def node(self, name: str) -> Node:
        told = self.ask("describe", name)
        return Node(self, name, RELEASES[told["release"]], told["address"], told["mac"], Path(told["folder"]))

    def offer_kubernetes(self, release: Release = NEWEST) -> None:
        """Have the registry serve the images of Kubernetes, which takes some seconds the first time."""
        find(release.kubelet)
        self.ask("offer_kubernetes", release.line)

    def registry(self, *, kubernetes: bool) -> str:
        port = keeper.ALL_IMAGES_PORT if kubernetes else keeper.TALOS_IMAGES_PORT
        return f"http://{self.network.gateway}:{port}"

    @property
    def discovery(self) -> str:
        return f"http://{self.network.gateway}:{keeper.DISCOVERY_PORT}"

    def stop(self) -> None:
        """End the lab now, and wait until nothing of it is left; silent when it has ended."""
        with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(FileNotFoundError, ConnectionError):
            connection.connect(str(self.folder / keeper.SOCKET))
            connection.sendall(b"\n")
        with locked(self.folder / "keeper.lock"):
            pass

    def ask(self, action: str, *arguments: str) -> Any:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.folder / keeper.SOCKET))
            with connection.makefile("rw") as stream:
                stream.write(json.dumps([action, *arguments]) + "\n")
                stream.flush()
                answer = json.loads(stream.readline())
        if "problem" in answer:
            raise RuntimeError(answer["problem"])
        return answer["result"]


def wait_until(done: Callable[[], bool], seconds: float, complaint: Callable[[], str], pause: float = 0.2) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds:g} s: {complaint()}")
        time.sleep(pause)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _try_lock(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start_keeper(folder: Path, index: int, owner: int, lock: TextIO) -> None:
    """The keeper inherits the lock, so it is held exactly as long as the keeper lives."""
    (folder / keeper.READY).unlink(missing_ok=True)
    with (folder / "keeper.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.real.talos.keeper", str(index), str(folder), str(owner)],
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[lock.fileno()],
            start_new_session=True,
        )

    def ready_or_dead() -> bool:
        return (folder / keeper.READY).exists() or process.poll() is not None

    wait_until(ready_or_dead, _START, lambda: (folder / "keeper.log").read_text())
    if process.poll() is not None:
        raise RuntimeError(f"the lab of real nodes did not start:\n{(folder / 'keeper.log').read_text()[-3000:]}")


def _started(process: int) -> str:
    """When a process was started, in clock ticks since boot: with its id, a name that no other process has."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
