"""Files that hold secrets: only their owner may read them, and they are whole or not there.

Every file is born with mode 0600 whatever the umask, under a name that nobody can have prepared (no symbolic link is
followed, no file is reused), and is on disk before it takes the place of an older one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from talosmith.errors import SecretsError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_secret(path: Path, data: bytes) -> None:
    """Put `data` into `path` in one move: a reader, or a crash, sees the old file or the new one."""
    if path.is_symlink():
        raise SecretsError(
            f"{path} is a symbolic link and is not written to",
            hint="name the file it points to, or remove the link",
        )
    with _folder(path) as folder:
        temporary = f".{path.name}.{secrets.token_hex(8)}.tmp"
        _create(temporary, data, folder)
        try:
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def create_secret(path: Path, data: bytes) -> None:
    """Put `data` into a new file; one that is there already is an error and stays as it is."""
    with _folder(path) as folder:
        try:
            _create(path.name, data, folder)
        except FileExistsError:
            raise SecretsError(
                f"{path} is there already and is not overwritten",
                hint="use it, or move it away first",
            ) from None
        os.fsync(folder)


def make_private_folder(path: Path) -> None:
    """Make `path` and what is missing above it, each for the owner alone."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
    except OSError as problem:
        raise SecretsError(
            f"cannot make the folder {path}: {problem.strerror}", hint="check who owns the folder above it"
        ) from problem


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    """The folder of `path`, held open so that it cannot be swapped underneath us; OS errors become ours."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield folder
        finally:
            os.close(folder)
    except OSError as problem:
        raise SecretsError(
            f"cannot write {path}: {problem.strerror or problem}",
            hint="check the folder's permissions and the free space",
        ) from problem


def _create(name: str, data: bytes, folder: int) -> None:
    """A new file with all of `data` on disk, or no file."""
    descriptor = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        try:
            os.fchmod(descriptor, 0o600)  # a umask may have taken even the owner's rights
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
