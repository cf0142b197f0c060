"""Saving an etcd snapshot so that a file with its name is a good one: written aside, checked, then put in place."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from talosmith.talos.errors import Failed

_DIGEST = 32
_PAGE = 512  # databases are whole pages, and the hash stands after them


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`sha256` is that of the database, as it also stands at the end of the file."""

    path: Path
    size: int
    sha256: str


class SnapshotWriter:
    """Holds the last 32 bytes back from the hash until it is known that they are the end."""

    def __init__(self, path: Path, node: str) -> None:
        self._path = path
        self._node = node
        self._digest = hashlib.sha256()
        self._tail = b""
        self._size = 0

    def __enter__(self) -> Self:
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")  # mode 0600
        self._aside = Path(name)
        self._file: IO[bytes] = os.fdopen(handle, "wb")
        return self

    def add(self, piece: bytes) -> None:
        self._file.write(piece)
        self._size += len(piece)
        waiting = self._tail + piece
        self._digest.update(waiting[:-_DIGEST])
        self._tail = waiting[-_DIGEST:]

    def finish(self) -> Snapshot:
        if self._size % _PAGE != _DIGEST or self._tail != self._digest.digest():
            raise Failed(
                self._node,
                f"EtcdSnapshot: the snapshot of {self._size} bytes is not whole, its hash does not fit",
                hint="Nothing was saved. Take it again, from another control plane if it happens again.",
                call="EtcdSnapshot",
            )
        self._file.flush()
        os.fsync(self._file.fileno())
        self._aside.replace(self._path)
        return Snapshot(self._path, self._size, self._tail.hex())

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self._file.close()
        self._aside.unlink(missing_ok=True)
