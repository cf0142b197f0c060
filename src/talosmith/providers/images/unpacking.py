"""Unpacks disk images (xz, gzip, zstd) within limits: a small file may stand for more than any disk holds.

The decompressors get little at a time, so that what they return fits into memory; they say themselves where a stream
ends, so that a part is never taken for the whole, which the ready-made reader for zstd does.
"""

from __future__ import annotations

import lzma
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from talosmith.errors import Permanent
from talosmith.providers.progress import counting
from talosmith.tasks import stop_if_cancelled

GIB = 1024**3
MAX_IMAGE = 16 * GIB  # several times a Talos disk image
MIN_FREE = GIB // 4  # stays free on the file system of the cache
_MAX_MEMORY = GIB // 4  # of the xz decoder; `xz -9` needs 65 MiB, zstd's own limit is 128 MiB
_BLOCK = 1024 * 1024
_PIECE = 512  # zstd may return 32768 times as much at once: 16 MiB
_MAGIC = {b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst", b"\x1f\x8b": "gz"}
_ENDS_EARLY = "compressed data ends before its end-of-stream marker"


class Room:
    """Counts the bytes of an image, and refuses more than an image has or the file system of `folder` holds."""

    def __init__(self, folder: Path, failed: str) -> None:
        self._folder, self._failed, self._size = folder, failed, 0

    def check(self, more: int, on_disk: int) -> None:
        """Raise `Permanent` if `more` bytes are too many, or if `on_disk` of them do not fit."""
        self._size += more
        if self._size > MAX_IMAGE:
            raise Permanent(
                f"{self._failed}: larger than the limit of {MAX_IMAGE / GIB:g} GiB",
                hint="set `image` of the provider to a Talos disk image",
            )
        if on_disk and shutil.disk_usage(self._folder).free - on_disk < MIN_FREE:
            raise Permanent(
                f"{self._failed}: not enough free disk space in {self._folder}",
                hint="free disk space, or set XDG_CACHE_HOME to a directory on a larger file system",
            )


def unpack(packed: Path, target: Path) -> bool:
    """Write the image in `packed` to `target`, zeros as holes; False if `packed` is not compressed."""
    with packed.open("rb") as file:
        start = file.read(8)
        kind = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")
        if not kind:
            return False
        file.seek(0)
        failed = f"image {packed.name} cannot be unpacked"
        try:
            with target.open("wb") as writing:
                _write(_blocks(_inflated(file, _decompressor(kind))), writing, Room(target.parent, failed))
        except (lzma.LZMAError, zlib.error, EOFError, ValueError) as broken:
            raise Permanent(f"{failed}: {broken}", hint="download the image again") from None
        except OSError as trouble:
            hint = f"check the permissions and the free disk space of {target.parent}"
            raise Permanent(f"{failed}: {trouble.strerror or trouble}", hint=hint) from None
    return True


def _write(blocks: Iterable[bytes], writing: IO[bytes], room: Room) -> None:
    for block in counting(blocks, "unpacking the image"):
        stop_if_cancelled()
        is_hole = block.count(0) == len(block)
        room.check(len(block), 0 if is_hole else len(block))
        if is_hole:
            writing.seek(len(block), os.SEEK_CUR)
        else:
            writing.write(block)
    writing.truncate()


def _decompressor(kind: str) -> Callable[[], Any]:
    if kind == "xz":
        return lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MAX_MEMORY)
    if kind == "gz":
        return lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        import zstandard
    except ImportError:
        raise Permanent(
            "the image is packed with zstd, and there is nothing here to unpack it",
            hint="pip install zstandard, or unpack it yourself and set `image` of the provider to the file",
        ) from None
    return lambda: _Zstandard(zstandard)


class _Zstandard:
    """One frame; with errors that are `ValueError`."""

    def __init__(self, library: Any) -> None:
        self._library, self._frame = library, library.ZstdDecompressor().decompressobj()

    def decompress(self, data: bytes) -> bytes:
        try:
            return bytes(self._frame.decompress(data))
        except self._library.ZstdError as broken:
            raise ValueError(str(broken)) from None

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data)


def _inflated(file: IO[bytes], new: Callable[[], Any]) -> Iterator[bytes]:
    """What all streams of a file hold, one after the other; zeros may stand behind the last one."""
    stream: Any = None
    while piece := file.read(_PIECE):
        while piece:
            if stream is None:
                piece = piece.lstrip(b"\0")
                stream = new() if piece else None
                continue
            yield stream.decompress(piece)
            piece, stream = (stream.unused_data, None) if stream.eof else (b"", stream)
    if stream is not None:
        raise EOFError(_ENDS_EARLY)


def _blocks(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of one size, so that zeros are found as such."""
    held = bytearray()
    for part in parts:
        held += part
        whole = len(held) - len(held) % _BLOCK
        for at in range(0, whole, _BLOCK):
            yield bytes(held[at : at + _BLOCK])
        del held[:whole]
    if held:
        yield bytes(held)
