"""The cache of disk images: what is in it is whole, on disk, and what it was when its digest was taken.

A note per source names the image, its digest, and the state of the file (inode, size, times). Hashing gigabytes
before every use costs seconds, so the digest is verified only if that state differs. A change of the file shows in
its change time, which only the kernel sets, even if its modification time is put back.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from talosmith import files
from talosmith.errors import Permanent

_QCOW2 = b"QFI\xfb"
_HEADER = 512


@dataclass(frozen=True, slots=True)
class Image:
    path: str
    digest: str  # SHA-256 of what is in it, unpacked
    format: str  # raw, qcow2 or iso
    length: int  # bytes of the file
    capacity: int  # bytes of the disk that it is


class ImageCache:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def lookup(self, key: str, *, renew: bool = False) -> Image | None:
        """The image noted for `key`, unless its file is missing or changed. `renew`: note the state it has now."""
        try:
            note = json.loads(self._note(key).read_text(encoding="utf-8"))
            image = Image(**note["image"])
            state = _state(Path(image.path))
            if state != note["state"]:
                if digest_of(Path(image.path)) != image.digest:
                    return None
                if renew:
                    self._write_note(key, image, state)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return image

    def keep(self, key: str, file: Path, *, iso: bool = False) -> Image:
        """Note `file` for `key`, moved into the cache if it was made there; a user's own file stays in place."""
        with file.open("rb") as reading:
            header = reading.read(_HEADER)
        if not iso and not header.strip(b"\0"):
            raise Permanent(
                f"{file.name} is no disk image: its first sector is empty",
                hint="set `image` of the provider to one that boots",
            )
        state = _state(file)  # before the digest: a file that changes meanwhile does not match its note
        digest = digest_of(file)
        path = file
        if file.parent != self.folder and file.is_relative_to(self.folder):
            path = self.folder / f"{digest}.img"
            _move(file, path)
            state = _state(path)  # the rename changes it
        length = path.stat().st_size
        is_qcow2 = header.startswith(_QCOW2)
        image = Image(
            path=str(path),
            digest=digest,
            format="iso" if iso else "qcow2" if is_qcow2 else "raw",
            length=length,
            capacity=int.from_bytes(header[24:32], "big") if is_qcow2 else length,
        )
        self._write_note(key, image, state)
        return image

    def _note(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _write_note(self, key: str, image: Image, state: list[int]) -> None:
        files.replace_file(self._note(key), json.dumps({"image": asdict(image), "state": state}).encode())


def digest_of(file: Path, kind: str = "sha256") -> str:
    with file.open("rb") as reading:
        return hashlib.file_digest(reading, kind).hexdigest()


def _state(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _move(file: Path, path: Path) -> None:
    """Rename with everything on disk: after a power cut the name has all of its bytes, or does not exist."""
    _sync(file)
    file.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
