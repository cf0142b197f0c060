"""Files that hold secrets, as `files` writes them, with errors that say what to do."""

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
    """Put `data` into a new file; one that is there already is an error and stays as it is."""
    with _explained(path):
        files.create_file(path, data)


def make_private_folder(path: Path) -> None:
    """Make `path` and what is missing above it, each for the owner alone."""
    try:
        files.make_private_folder(path)
    except OSError as problem:
        raise SecretsError(
            f"cannot make the folder {path}: {problem.strerror}", hint="check who owns the folder above it"
        ) from problem


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise SecretsError(
            f"{path} is there already and is not overwritten",
            hint="use it, or move it away first",
        ) from None
    except OSError as problem:
        raise SecretsError(
            f"cannot write {path}: {problem.strerror or problem}",
            hint="check the folder's permissions and the free space",
        ) from problem
