"""The way from a control plane's port to the real API server: held, slowed down, broken off."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from talosmith.lab.server.real_kubernetes.tunnel import Tunnel

pytestmark = pytest.mark.anyio
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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
        assert await asyncio.wait_for(reader.readexactly(len(data)), 10) == data


async def test_held_nothing_passes_and_nothing_is_lost() -> None:
    async with _through() as (tunnel, (reader, writer), _):
        tunnel.hold(True)
        writer.write(b"question")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.2)
        tunnel.hold(False)
        assert await asyncio.wait_for(reader.readexactly(8), 10) == b"question"


async def test_what_was_slowed_down_arrives_later_and_in_order() -> None:
    waits = [0.3, 0.0]
    async with _through(lambda: waits.pop(0) if waits else 0.0) as (_, (reader, writer), _):
        began = time.monotonic()
        writer.write(b"first ")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"second")
        assert await asyncio.wait_for(reader.readexactly(12), 10) == b"first second"
        assert time.monotonic() - began >= 0.3


async def test_broken_off_the_client_notices() -> None:
    async with _through() as (tunnel, (reader, _), gone):
        tunnel.abort()
        with suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 10) == b""
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
    assert await asyncio.wait_for(reader.read(), 10) == b""
    assert gone == [tunnel]
    writer.close()
