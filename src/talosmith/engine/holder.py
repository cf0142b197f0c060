"""The holder of a cluster's lock: what its file records, and whether the process is proven to be dead."""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

Life = Literal["runs", "is stopped", "is gone", "cannot be seen from here"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    id: str  # of the lock since it was acquired; `--force-unlock` takes it
    serial: int  # one more each time the lock is acquired
    user: str
    host: str
    boot: str  # the kernel's boot id; the same one means the same kernel
    pid: int
    started: int  # of the process, in the kernel's ticks: the pid alone may be another process by now
    since: float  # seconds since the epoch
    command: str
    released: bool = False
    namespace: str = ""  # of its pid, as the kernel names it; empty: unknown, as in locks of earlier versions

    @classmethod
    def myself(cls, id_: str, serial: int, command: str) -> Holder:
        pid = os.getpid()
        return cls(
            id=id_,
            serial=serial,
            user=_user(),
            host=socket.gethostname(),
            boot=boot_id(),
            pid=pid,
            started=_state_and_start(pid)[1],
            since=time.time(),
            command=command,
            namespace=pid_namespace(),
        )

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since))
        return f"{self.user}@{self.host}, pid {self.pid}, since {since}: {self.command}"

    def to_bytes(self) -> bytes:
        content = asdict(self)
        return json.dumps({**content, "sum": _sum(content)}, indent=1).encode() + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Holder:
        """Raises `ValueError` for anything that `to_bytes` did not write."""
        content = json.loads(data)  # its errors are ValueErrors
        if not isinstance(content, dict) or content.pop("sum", None) != _sum(content):
            raise ValueError("the checksum is wrong")
        expected = {field.name for field in fields(cls)}
        if content.keys() not in (expected, expected - {"namespace"}):
            raise ValueError("other fields than expected")
        return cls(**content)

    @property
    def same_kernel(self) -> bool:
        """Whether the holder runs on this kernel: then a free kernel lock proves that its process is dead."""
        return self.boot == boot_id() and bool(self.boot or self.host == socket.gethostname())

    @property
    def same_pids(self) -> bool:
        """Whether its pid means the same process here. Containers have PID namespaces of their own, and may share the
        host's name and kernel."""
        same_host = self.same_kernel and self.host == socket.gethostname()
        return same_host and bool(self.namespace) and self.namespace == pid_namespace()

    @property
    def before_reboot(self) -> bool:
        """Whether the holder ran on this machine before its last boot."""
        here = boot_id()
        return bool(self.boot and here) and self.boot != here and self.host == socket.gethostname()

    @property
    def life(self) -> Life:
        if not self.same_pids:
            return "cannot be seen from here"
        state, started = _state_and_start(self.pid)
        if started != self.started or state in "ZX":
            return "is gone"
        return "is stopped" if state in "Tt" else "runs"


def _sum(content: dict[str, Any]) -> str:
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def pid_namespace() -> str:
    if os.uname().sysname != "Linux":
        return "none"  # there is only one
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _state_and_start(pid: int) -> tuple[str, int]:
    """The process's state and start time; `("X", 0)` if it does not exist or the system does not say."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "X", 0
    after_name = line.rpartition(")")[2].split()  # the name may contain anything, also parentheses
    return after_name[0], int(after_name[19])
