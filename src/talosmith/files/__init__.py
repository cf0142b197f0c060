"""Files of ours: only their owner may read them, and they are whole or not there.

Every file is born with mode 0600 whatever the umask, under a name that no other process can prepare (no symbolic link
is followed, no file is reused), and is on disk before it replaces an older one. Errors are the system's own; callers
say what they mean.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` into `path` in one move: a reader, or a crash, sees the old file or the new one."""
    os.close(replace_and_keep(path, data))


def replace_and_keep(path: Path, data: bytes, lock: int | None = None) -> int:
    """Like `replace_file`; the new file comes back open, and locked (`fcntl.LOCK_…`) before it is visible."""
    with _folder(path) as folder:
        temporary = f".{path.name}.{secrets.token_hex(8)}.tmp"
        descriptor = _create(temporary, data, folder)
        try:
            if lock is not None:
                fcntl.flock(descriptor, lock)
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.close(descriptor)
            os.unlink(temporary, dir_fd=folder)
            raise
        try:
            os.fsync(folder)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def create_file(path: Path, data: bytes) -> None:
    """Put `data` into a new file; `FileExistsError` if there is one, which stays as it is."""
    with _folder(path) as folder:
        os.close(_create(path.name, data, folder))
        os.fsync(folder)


def make_private_folder(path: Path) -> None:
    """Create `path` and missing folders above it, each with mode 0700."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    """The folder of `path`, held open so that it cannot be swapped underneath us."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _create(name: str, data: bytes, folder: int) -> int:
    """A new file with all of `data` on disk, open; or no file."""
    descriptor = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        os.fchmod(descriptor, 0o600)  # a umask may have taken even the owner's rights
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    return descriptor
