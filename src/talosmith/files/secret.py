"""Files that contain secrets, as `files` writes them, with errors that have a fix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from talosmith import files
from talosmith.errors import SecretsError


def write_secret(path: Path, data: bytes) -> None:
    """Put `data` into `path` in one move: a reader, or a crash, sees the old file or the new one."""
    if path.is_symlink():
        raise SecretsError(
            f"{path} is a symbolic link and is not written to",
            hint="name the file it points to, or remove the link",
        )
    with _explained(path):
        files.replace_file(path, data)


def create_secret(path: Path, data: bytes) -> None:
    """Put `data` into a new file; an existing file is an error and stays unchanged."""
    with _explained(path):
        files.create_file(path, data)


def make_private_folder(path: Path) -> None:
    """Create `path` and missing folders above it, each with mode 0700."""
    try:
        files.make_private_folder(path)
    except OSError as problem:
        raise SecretsError(
            f"cannot create the folder {path}: {problem.strerror}",
            hint="check the permissions of the folder above it",
        ) from problem


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise SecretsError(
            f"{path} already exists and is not overwritten",
            hint="use it, or move it first",
        ) from None
    except OSError as problem:
        raise SecretsError(
            f"cannot write {path}: {problem.strerror or problem}",
            hint="check the folder's permissions and the free space",
        ) from problem
