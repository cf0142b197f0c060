"""Protocol buffers by hand: enough to write a message from a table of its fields, and to read a flat one.

Resources travel as messages of a hundred kinds that nothing else here needs; a table entry each is enough for them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES = 0, 1, 2


class BadMessage(ValueError):
    """Bytes that are not a message."""


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF  # negative numbers are written as their 64-bit pattern
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3 | VARINT) + varint(value)


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | FIXED64) + struct.pack("<d", value)


def blob(field: int, value: bytes) -> bytes:
    return varint(field << 3 | BYTES) + varint(len(value)) + value


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message as they stand there."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = _read_varint(data, at)
            yield tag >> 3, value
        elif kind == BYTES:
            size, at = _read_varint(data, at)
            if at + size > len(data):
                raise BadMessage("a field reaches beyond the message")
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            raise BadMessage(f"a field is of kind {kind}")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise BadMessage("a number does not end")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if not byte & 0x80:
            return value, at
