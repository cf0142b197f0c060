"""What asyncio's TLS costs per connection, made small: with a thousand nodes it is what fills memory and time."""

from __future__ import annotations

import asyncio
from typing import Any

_READ = 32 * 1024  # two TLS records; asyncio takes 256 KiB for each connection, used or not
_ENOUGH = 64 * 1024


def slim(transport: asyncio.BaseTransport) -> None:
    """Shrinks the buffer into which a TLS connection reads. Another event loop than asyncio's own is left alone."""
    inner: Any = getattr(transport, "_ssl_protocol", None)
    if all(hasattr(inner, name) for name in ("max_size", "_ssl_buffer", "_ssl_buffer_view")):
        inner.max_size = _READ
        inner._ssl_buffer = bytearray(_READ)
        inner._ssl_buffer_view = memoryview(inner._ssl_buffer)


class Gathering(asyncio.Transport):
    """Sends what is written in one turn of the loop as one packet.

    A call is several small frames, each written by itself; sending each by itself is half of what a call costs.
    At first everything is held back: a node that refuses us says why and closes, and if anything of ours were on its
    way to it by then, the reason would be lost with the connection.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._waiting = bytearray()
        self._loop = asyncio.get_running_loop()
        self._held = True

    def release(self) -> None:
        self._held = False
        self._send()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._waiting and not self._held:
            self._loop.call_soon(self._send)
        self._waiting += data
        if len(self._waiting) > _ENOUGH:
            self._send()

    def _send(self) -> None:
        if self._waiting and not self._held:
            if not self._transport.is_closing():
                self._transport.write(bytes(self._waiting))
            self._waiting.clear()

    def close(self) -> None:
        """Once: a second close leaves asyncio's TLS transport of Python 3.11.2 unable to abort."""
        self._send()
        if not self._transport.is_closing():
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)
