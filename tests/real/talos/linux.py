"""The few system calls that a node's namespaces need and that `os` does not have in every supported Python."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEW_MOUNTS, NEW_CGROUPS, NEW_UTS, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEW_PIDS, NEW_NETWORK = 0x20000000, 0x40000000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC, REMOUNT, BIND = 1, 2, 4, 8, 32, 4096
RECURSIVE, PRIVATE = 1 << 14, 1 << 18

_DETACH = 2
_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_DROP = 24

_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str | Path, target: str | Path, kind: str = "", flags: int = 0, data: str = "") -> None:
    texts = [os.fsencode(text) or None for text in (str(source), str(target), kind)]
    _check(_libc.mount(*texts, ctypes.c_ulong(flags), os.fsencode(data) or None), f"mount {target}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def set_hostname(name: str) -> None:
    _check(_libc.sethostname(name.encode(), len(name)), "sethostname")


def die_with_parent(signal_number: int) -> None:
    """Ask the kernel for that signal when the thread that started this process ends, however it ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl")


def drop_capability(number: int) -> None:
    _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), "prctl")


def make_root(folder: Path) -> None:
    """Make a mounted folder the root of this mount namespace and let go of the old one."""
    os.chdir(folder)
    root = ctypes.c_char_p(b".")
    _check(_libc.pivot_root(root, root), "pivot_root")
    _check(_libc.umount2(root, _DETACH), "umount of the old root")
    os.chdir("/")


def namespace(kind: str) -> int:
    """The number of this process's namespace of a kind: the same number is the same namespace."""
    return Path(f"/proc/self/ns/{kind}").stat().st_ino


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
