"""TLS between a plain connection and a protocol that need not know of it.

asyncio's own does not tell a client that it refuses why: the alert stays in a buffer, and the connection breaks. Real
nodes send it, and clients can tell a wrong certificate from a node that is gone; so the handshake is done here.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

_HANDSHAKE = 15.0  # seconds
_LISTENS = 2.0  # … in which a client that was refused may find out why
_CHUNK = 65536


class Secured(asyncio.Protocol):
    """The plain side. `made` makes the protocol behind it, once the client is trusted."""

    def __init__(
        self, context: ssl.SSLContext, made: Callable[[], asyncio.Protocol], gone: Callable[[], None]
    ) -> None:
        self._incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self.outgoing, server_side=True)
        self._made = made
        self._gone = gone
        self._behind: asyncio.Protocol | None = None
        self._refused = False
        self._timer: asyncio.TimerHandle | None = None
        self.plain: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.plain = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(_HANDSHAKE, self.plain.abort)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return  # read and thrown away: unread, it would reset the connection before the client has seen why
        self._incoming.write(data)
        try:
            if self._behind is None:
                self._shake_hands()
            while self._behind is not None:
                chunk = self.tls.read(_CHUNK)
                if not chunk:
                    self._say_goodbye()
                    return
                self._behind.data_received(chunk)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            self._refuse()
            return
        self.flush()

    def _shake_hands(self) -> None:
        self.tls.do_handshake()
        self._stop_timer()
        self._behind = self._made()
        self._behind.connection_made(_Inside(self))

    def _refuse(self) -> None:
        self.flush()
        self._refused = True
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(_LISTENS, self.plain.abort)
        if not self.plain.is_closing() and self.plain.can_write_eof():
            self.plain.write_eof()

    def _say_goodbye(self) -> None:
        """The client has ended TLS politely, and waits for the same."""
        with suppress(ssl.SSLError):
            self.tls.unwrap()
        self.flush()
        self.plain.close()

    def flush(self) -> None:
        if self.outgoing.pending and not self.plain.is_closing():
            self.plain.write(self.outgoing.read())

    def eof_received(self) -> bool:
        return False  # the client has gone

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        if self._behind is not None:
            self._behind.connection_lost(exc if isinstance(exc, Exception) else None)
        self._gone()

    def pause_writing(self) -> None:
        if self._behind is not None:
            self._behind.pause_writing()

    def resume_writing(self) -> None:
        if self._behind is not None:
            self._behind.resume_writing()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class _Inside(asyncio.Transport):
    """What the protocol behind TLS takes for its connection."""

    def __init__(self, secured: Secured) -> None:
        super().__init__()
        self._secured = secured

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if self.is_closing():
            return
        rest = memoryview(data)
        while rest:
            rest = rest[self._secured.tls.write(rest) :]
        self._secured.flush()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._secured.tls if name == "ssl_object" else self._secured.plain.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._secured.plain.is_closing()

    def close(self) -> None:
        self._secured.flush()
        self._secured.plain.close()

    def abort(self) -> None:
        self._secured.plain.abort()

    def pause_reading(self) -> None:
        self._secured.plain.pause_reading()

    def resume_reading(self) -> None:
        self._secured.plain.resume_reading()
