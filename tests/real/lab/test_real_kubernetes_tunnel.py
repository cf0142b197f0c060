"""The way from a control plane's port to the real API server: held, slowed down, broken off."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from talosmith_lab.server.real_kubernetes.tunnel import Tunnel

PATIENCE = 120.0
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def _through(delay: Callable[[], float] = lambda: 0.0) -> AsyncIterator[tuple[Tunnel, Streams, list[Tunnel]]]:
    """A client's end of a tunnel whose far end says everything back, and those tunnels that have ended."""
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    gone: list[Tunnel] = []
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    tunnel = Tunnel(delay, gone.append)
    await tunnel.open(ours, server.sockets[0].getsockname())
    reader, writer = await asyncio.open_connection(sock=theirs)
    try:
        yield tunnel, (reader, writer), gone
    finally:
        writer.close()
        tunnel.abort()
        server.close()


async def test_bytes_pass_both_ways() -> None:
    async with _through() as (_, (reader, writer), _):
        data = bytes(range(256)) * 8192
        writer.write(data)
        assert await asyncio.wait_for(reader.readexactly(len(data)), PATIENCE) == data


async def test_held_nothing_passes_and_nothing_is_lost() -> None:
    async with _through() as (tunnel, (reader, writer), _):
        tunnel.hold(True)
        writer.write(b"question")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.2)
        tunnel.hold(False)
        assert await asyncio.wait_for(reader.readexactly(8), PATIENCE) == b"question"


async def test_what_was_slowed_down_arrives_later_and_in_order() -> None:
    waits, loop = [0.3, 0.0], asyncio.get_running_loop()
    came: asyncio.Queue[float] = asyncio.Queue()  # when each piece did

    def delay() -> float:
        came.put_nowait(loop.time())
        return waits.pop(0) if waits else 0.0

    async with _through(delay) as (_, (reader, writer), _):
        writer.write(b"first ")
        began = await asyncio.wait_for(came.get(), PATIENCE)
        writer.write(b"second")
        assert await asyncio.wait_for(reader.readexactly(12), PATIENCE) == b"first second"
        assert loop.time() - began >= 0.3
        assert came.qsize() == 1, "the second was a piece of its own"


async def test_broken_off_the_client_notices() -> None:
    async with _through() as (tunnel, (reader, _), gone):
        tunnel.abort()
        with suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        assert tunnel in gone


async def test_where_nobody_answers_the_client_is_not_left_waiting() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        gone: list[Tunnel] = []
        tunnel = Tunnel(lambda: 0.0, gone.append)
        await tunnel.open(ours, nobody.getsockname())
    reader, writer = await asyncio.open_connection(sock=theirs)
    assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
    assert gone == [tunnel]
    writer.close()
