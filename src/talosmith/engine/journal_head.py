"""Number and checksum of the journal's last entry, in a file beside it: shows whether entries at the end are missing.

SQLite silently drops the last writes if its write-ahead log is truncated or damaged. So every write records number
and checksum of the last entry here, and those of the last entry that was synced to disk: a power cut may lose what
came after that one, and nothing else.
"""

from __future__ import annotations

import os
import struct
import time
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from talosmith.files import create_file

_MAGIC = b"TSJHEAD1"
_FORMAT = struct.Struct(">8sQ16sQ16s")
_SUM = 8
_SIZE = _FORMAT.size + _SUM


@dataclass(frozen=True, slots=True)
class Mark:
    """An entry's number and checksum."""

    seq: int = 0
    sum: bytes = bytes(16)


@dataclass(frozen=True, slots=True)
class Head:
    durable: Mark = Mark()
    last: Mark = Mark()

    def to_bytes(self) -> bytes:
        data = _FORMAT.pack(_MAGIC, self.durable.seq, self.durable.sum, self.last.seq, self.last.sum)
        return data + blake2b(data, digest_size=_SUM).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> Head:
        content, checksum = data[: _FORMAT.size], data[_FORMAT.size :]
        if len(data) != _SIZE or blake2b(content, digest_size=_SUM).digest() != checksum:
            raise ValueError("the checksum is wrong")
        magic, durable, durable_sum, last, last_sum = _FORMAT.unpack(content)
        if magic != _MAGIC:
            raise ValueError("not a journal's head")
        return cls(Mark(durable, durable_sum), Mark(last, last_sum))


def create_head(path: Path) -> None:
    create_file(path, Head().to_bytes())


def read_head(path: Path) -> Head:
    """Raises `ValueError` if it is damaged. Read again before that: a writer may be in the middle of a write."""
    for _ in range(3):
        try:
            return Head.from_bytes(path.read_bytes())
        except ValueError:
            time.sleep(0.002)
    return Head.from_bytes(path.read_bytes())


def write_head(descriptor: int, head: Head, *, sync: bool) -> None:
    """In place and in one write: the space is allocated already, so a full disk does not matter."""
    os.pwrite(descriptor, head.to_bytes(), 0)
    if sync:
        os.fsync(descriptor)
