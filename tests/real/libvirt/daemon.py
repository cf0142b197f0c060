"""A libvirtd of the test's own: real, with QEMU, and out of everybody's way.

It has its own view of the file system (its state, its configuration and its /dev are private), its own network with
its own firewall, and its own processes: when the first of them ends, all end, virtual machines too, and nothing of it
was ever to be seen on the host. /dev is private because libvirt believes in /dev/kvm where it sees it, whether it
works or not; without it machines are emulated, and tests are the same everywhere.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_PRIVATE = {
    "run": "/run/libvirt",
    "lib": "/var/lib/libvirt",
    "etc": "/etc/libvirt",
    "log": "/var/log/libvirt",
    "cache": "/var/cache/libvirt",
}
_NODES = {"null": "1 3", "zero": "1 5", "full": "1 7", "random": "1 8", "urandom": "1 9", "tty": "5 0"}
_SETTINGS = {
    "libvirtd.conf": 'auth_unix_rw = "none"\nauth_unix_ro = "none"\nunix_sock_rw_perms = "0700"\n',
    "virtlogd.conf": "",
    "qemu.conf": 'user = "root"\ngroup = "root"\nsecurity_driver = "none"\nremember_owner = 0\n',
}
_PATIENCE = 300.0
_DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG
_NETWORK = 0x40000000  # CLONE_NEWNET
_LIBC = ctypes.CDLL(None, use_errno=True)  # loaded here: after a fork nothing may be


@dataclass(frozen=True, slots=True)
class Daemon:
    folder: Path

    @property
    def socket(self) -> Path:
        return self.folder / "run" / "libvirt-sock"

    @property
    def uri(self) -> str:
        return f"qemu+unix:///system?socket={self.socket}"

    @property
    def pool_path(self) -> str:
        return str(self.folder / "pool")

    def inside(self) -> int:
        """A process that sees what libvirtd sees; the first of its processes."""
        return int((self.folder / "pid").read_text())

    @property
    def network(self) -> Path:
        return Path(f"/proc/{self.inside()}/ns/net")

    def seen(self, path: str) -> Path:
        """A file of that host, as libvirtd names it."""
        return Path(f"/proc/{self.inside()}/root{path}")

    def command(self, *words: object) -> list[str]:
        """A command as a user of that host would give it, who sees its files, its network and its processes."""
        entering = ["nsenter", "--target", str(self.inside()), "--mount", "--net", "--pid", "--wd=/", "--"]
        return entering + [str(word) for word in words]

    def run(self, *words: object) -> str:
        done = subprocess.run(self.command(*words), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def in_network(self, work: Callable[[], T]) -> T:
        """Done in the host's network; sockets that are made there stay there, whoever uses them."""
        results: list[T] = []
        errors: list[BaseException] = []

        def there() -> None:
            try:
                with self.network.open() as network:
                    if _LIBC.setns(network.fileno(), _NETWORK):
                        raise OSError(ctypes.get_errno(), "setns")
                results.append(work())
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=there)  # with its end, it is left again
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return results[0]

    def log(self) -> str:
        return (self.folder / "output").read_text(errors="replace")


@contextmanager
def running_daemon(*, kvm: bool = False) -> Iterator[Daemon]:
    """In a short path: sockets have no room for long ones. `kvm`: it sees /dev/kvm."""
    folder = Path(tempfile.mkdtemp(prefix="lv-"))
    folder.chmod(0o755)
    for name in (*_PRIVATE, "dev"):
        (folder / name).mkdir()
    for name, text in _SETTINGS.items():
        (folder / "etc" / name).write_text(text)
    (folder / "start").write_text(_script(folder, kvm))
    daemon = Daemon(folder)
    with (folder / "output").open("w") as output:
        unshare = [
            "unshare",
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            "sh",
            str(folder / "start"),
        ]
        process = subprocess.Popen(unshare, stdout=output, stderr=output, preexec_fn=_die_with_us)
    try:
        _wait(process, daemon)
        (first,) = _children(process)
        (folder / "pid").write_text(str(first))
        yield daemon
    finally:
        _end(process)
        shutil.rmtree(folder, ignore_errors=True)


def _script(folder: Path, kvm: bool) -> str:
    lines = [
        "set -e",
        "mount --make-rprivate /",
        "ip link set lo up",
        # /sys tells of the network that it was mounted in. Control groups are not in it: libvirt does without them,
        # where it would leave some on the host.
        "umount -l /sys",
        "mount -t sysfs sysfs /sys",
    ]
    for name, place in _PRIVATE.items():
        lines += [f"mkdir -p {place}", f"mount --bind {folder}/{name} {place}"]
    new = f"{folder}/dev"
    lines += [f"mount -t tmpfs -o mode=755 tmpfs {new}", f"mkdir {new}/pts {new}/shm {new}/net"]
    nodes = _NODES | ({"kvm": "10 232"} if kvm else {})
    lines += [f"mknod -m 666 {new}/{name} c {numbers}" for name, numbers in nodes.items()]
    lines += [
        f"mknod -m 600 {new}/net/tun c 10 200",
        f"ln -s pts/ptmx {new}/ptmx",
        # What is mounted below the old /dev must go: libvirt would move it along, and fail.
        "for below in $(awk '$2 ~ \"^/dev/\" {print $2}' /proc/mounts | sort -r); do umount -l $below; done",
        f"mount --move {new} /dev",
        "mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts /dev/pts",
        "mount -t tmpfs tmpfs /dev/shm",
        "virtlogd -d -p /run/libvirt/virtlogd.pid",
        # Not in place of the shell: as the first process of all, that gathers the dead.
        "libvirtd -p /run/libvirt/libvirtd.pid",
    ]
    return "\n".join(lines) + "\n"


def _wait(process: subprocess.Popen[bytes], daemon: Daemon) -> None:
    """Until it takes connections: the socket is there a little earlier."""
    deadline = time.monotonic() + _PATIENCE
    while not _listens(daemon.socket):
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"libvirtd did not start:\n{daemon.log()}")
        time.sleep(0.05)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as trying:
        return trying.connect_ex(str(path)) == 0


def _children(process: subprocess.Popen[bytes]) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    except OSError:  # it has ended
        return []


def _end(process: subprocess.Popen[bytes]) -> None:
    """By the first of its processes, which is gone only when all others are: then nobody writes any more."""
    for first in _children(process):
        with suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)
    process.kill()
    process.wait()


def _die_with_us() -> None:
    """Also when the tests are killed."""
    _LIBC.prctl(_DEATH_OF_PARENT, signal.SIGKILL)
    os.setsid()
