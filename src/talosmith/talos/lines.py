"""Lines from pieces of bytes that are cut anywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator

LONGEST = 1024 * 1024  # a line that never ends is handed on in parts of this size


async def lines_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Without their ends; bytes that are not UTF-8 are replaced."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
        while len(rest) > LONGEST:
            yield rest[:LONGEST].decode(errors="replace")
            rest = rest[LONGEST:]
    if rest:
        yield rest.decode(errors="replace")
