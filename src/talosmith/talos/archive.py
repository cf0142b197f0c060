"""One file out of a foreign tar.gz, in memory, without trusting anything in it."""

from __future__ import annotations

import io
import tarfile
import zlib

_GZIP = 16 + zlib.MAX_WBITS
_HEADERS = 64 * 1024  # what tar may need besides the file


class Unsafe(Exception):
    """The archive is not what it should be."""


def single_file(packed: bytes, name: str, largest: int) -> bytes:
    """The content of the regular file `name`; nothing is unpacked beyond `largest` bytes, and nothing to a disk."""
    unpacker = zlib.decompressobj(_GZIP)
    try:
        unpacked = unpacker.decompress(packed, largest + _HEADERS)
    except zlib.error:
        raise Unsafe("it is not gzip") from None
    if unpacker.unconsumed_tail:
        raise Unsafe(f"it holds more than {largest} bytes")
    if not unpacker.eof:
        raise Unsafe("it is cut off")
    try:
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as archive:
            for member in archive:
                # A sparse file would unpack to a size of its own choosing.
                if member.name.removeprefix("./") == name and member.isreg() and not member.issparse():
                    content = archive.extractfile(member)
                    return content.read(largest) if content else b""
    except (tarfile.TarError, ValueError, OSError):
        raise Unsafe("it is not a tar archive") from None
    raise Unsafe(f"it holds no file {name!r}")
