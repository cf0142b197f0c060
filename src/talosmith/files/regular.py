"""Reads files of an inventory's folder: regular files only; an error names any other kind.

A pipe would be waited for without end, and a link that leads nowhere is not a file that was never written.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 4 * 1024 * 1024  # 10,000 nodes need less than one

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class FileTrouble(Exception):
    """A file cannot be read; the text continues a sentence that names it."""

    def __init__(self, text: str, *, fix: str = "", missing: bool = False) -> None:
        super().__init__(text)
        self.fix = fix
        self.missing = missing  # nothing has this name, not even a link


def read_content(path: Path, limit: int = MAX_BYTES + 1) -> bytes:
    """The file's bytes, `limit` of them at most: one more than is allowed, for `decode` to refuse."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as wrong:
        raise _trouble(path, wrong) from None
    try:
        kind = stat.S_IFMT(os.fstat(handle).st_mode)
        if kind != stat.S_IFREG:
            raise FileTrouble(f"is {_KINDS.get(kind, 'not a regular file')}, not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(limit)
    except OSError as wrong:
        raise _trouble(path, wrong) from None
    finally:
        os.close(handle)


def _trouble(path: Path, wrong: OSError) -> FileTrouble:
    if wrong.errno == errno.ELOOP:
        return FileTrouble(f"is a symbolic link in a loop ({wrong.strerror})", fix="remove the link")
    if wrong.errno == errno.ENXIO:  # a socket
        return FileTrouble("is a socket, not a regular file")
    if isinstance(wrong, FileNotFoundError):
        if path.is_symlink():
            what = f"is a symbolic link to {path.readlink()}, which does not exist"
            return FileTrouble(what, fix="correct the link, or remove it")
        return FileTrouble("does not exist", fix="create one with `talosmith init`", missing=True)
    return FileTrouble(f"cannot be read: {wrong.strerror}")


def is_folder(path: Path) -> bool:
    """False also for a name that no folder can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def escapes(path: Path, root: Path, name: str) -> bool:
    """Whether a name, or the link it stands for, leads out of `root`."""
    if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
        return True
    return not Path(os.path.realpath(path)).is_relative_to(root)


def shown(path: Path) -> str:
    """The path as the user would type it from here."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("../..") else str(path.absolute())
