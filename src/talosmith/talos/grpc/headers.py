"""Request headers as bytes that are the same on every connection.

hpack looks each header up in tables that it keeps for each connection, and compresses the rest bit by bit in Python:
for a few calls on each of a thousand connections that is most of what sending costs. Here headers are written in full
(RFC 7541, 6.2.3: a literal that is never indexed), once for all connections.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from hpack import Encoder
from hpack.hpack import encode_integer

_NEVER_INDEXED = b"\x10"
_KEPT = 4096  # different headers: mostly a path for each call and an authority for each node


class LiteralEncoder(Encoder):
    def encode(self, headers: Iterable[Any], huffman: bool = True) -> bytes:
        block = b"".join([_literal(header[0], header[1]) for header in headers])
        if self.header_table.resized:  # the node must be told so, though the table stays empty
            block = self._encode_table_size_change() + block
            self.header_table.resized = False
        return block


@lru_cache(_KEPT)
def _literal(name: bytes | str, value: bytes | str) -> bytes:
    return _NEVER_INDEXED + _text(name) + _text(value)


def _text(text: bytes | str) -> bytes:
    content = text.encode() if isinstance(text, str) else text
    return bytes(encode_integer(len(content), 7)) + content
