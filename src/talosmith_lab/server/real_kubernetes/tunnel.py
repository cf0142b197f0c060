"""Bytes between a client and the real API server, which are theirs alone: TLS goes from end to end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import cast

Delay = Callable[[], float]


class Tunnel:
    """`delay` is asked for each piece that a client sends: how many seconds it is on its way."""

    def __init__(self, delay: Delay, gone: Callable[[Tunnel], None]) -> None:
        self._delay = delay
        self._gone = gone
        self.held = False
        self._client, self._server = _Side(self), _Side(self)
        self._client.other, self._server.other = self._server, self._client
        self._latest = 0.0  # what was sent later must not arrive earlier

    async def open(self, accepted: socket.socket, address: tuple[str, int]) -> None:
        """If nothing answers there, the client's connection breaks off."""
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self._server, *address)
        except OSError:
            accepted.close()
            self._gone(self)
            return
        try:
            await loop.connect_accepted_socket(lambda: self._client, accepted)
        except OSError:
            self.abort()

    def hold(self, held: bool) -> None:
        """Nothing passes while it is held, and nothing is lost."""
        if held != self.held:
            self.held = held
            self._client.read(not held)
            self._server.read(not held)

    def abort(self) -> None:
        for side in (self._client, self._server):
            if side.transport is not None:
                side.transport.abort()

    def passed(self, side: _Side, data: bytes) -> None:
        if side is self._server:
            side.other.write(data)
            return
        loop = asyncio.get_running_loop()
        wait = self._delay()
        if not wait and self._latest <= loop.time():
            side.other.write(data)
            return
        self._latest = max(self._latest, loop.time() + wait)
        loop.call_at(self._latest, side.other.write, data)

    def ended(self) -> None:
        for side in (self._client, self._server):
            if side.transport is not None and not side.transport.is_closing():
                side.transport.close()
        self._gone(self)


class _Side(asyncio.Protocol):
    other: _Side

    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self.transport: asyncio.Transport | None = None
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        for data in self._early:
            self.transport.write(data)
        self._early.clear()

    def write(self, data: bytes) -> None:
        if self.transport is None:
            self._early.append(data)
        elif not self.transport.is_closing():
            self.transport.write(data)

    def read(self, on: bool) -> None:
        if self.transport is not None and not self.transport.is_closing():
            (self.transport.resume_reading if on else self.transport.pause_reading)()

    def data_received(self, data: bytes) -> None:
        self._tunnel.passed(self, data)

    def pause_writing(self) -> None:
        self.other.read(False)

    def resume_writing(self) -> None:
        if not self._tunnel.held:
            self.other.read(True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._tunnel.ended()
