"""What answers at a node's address may be anything. The client ends with a clear error, in time, and stays small."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from talosmith.desired.pki import CertificateAndKey
from talosmith.errors import Temporary
from talosmith.talos import (
    Address,
    Credentials,
    Limits,
    NotTalos,
    TalosClient,
    TalosError,
    TalosNode,
    TooLarge,
    TooSlow,
    Unreachable,
)
from talosmith.talos.proto import machine_pb2 as wire
from talosmith.talos.proto.common_pb2 import Data
from tests.clock import Clock
from tests.unit.talos.server import LOOPBACK, Http2Peer, answer, answers, for_ever, listening, server_context, serving

PATIENT = Limits(connect_timeout=120.0, call_timeout=240.0, max_answer=100_000)
GIGABYTE = 1 << 30


@pytest.fixture
async def client(credentials: Credentials) -> Any:
    async with TalosClient(credentials, limits=PATIENT) as client:
        yield client


async def failing(ask: Callable[[], Awaitable[Any]]) -> TalosError:
    """The error of a call, which must come in time and must not need memory."""
    tracemalloc.start()
    start = time.monotonic()
    try:
        with pytest.raises(TalosError) as caught:
            await ask()
        took = time.monotonic() - start
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert took < 100  # sooner than the deadline would end it
    assert peak < 16 * 1024**2
    return caught.value


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await for_ever()


async def test_nothing_listens_there(client: TalosClient, port: int) -> None:
    error = await failing(client.node(Address(LOOPBACK, port), "cp-1").version)
    assert isinstance(error, Unreachable)
    assert "connection refused" in str(error)


async def test_a_name_that_does_not_exist(client: TalosClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(host: str, *_: object, **__: object) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, f"{host}: unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)  # else it depends on who answers for names here, and when
    error = await failing(client.node("node.invalid").version)
    assert isinstance(error, Unreachable)
    assert "the name node.invalid does not resolve" in str(error)


async def out_of_time(node: TalosNode, stage: str) -> None:
    """A call whose time for connecting has run out as soon as it is in this stage."""
    clock = Clock()
    calling = asyncio.create_task(node.version())
    while node._channel.stage != stage and not calling.done():
        await asyncio.sleep(0)
    clock.forward(PATIENT.connect_timeout + 0.5)
    await calling


async def test_it_accepts_and_says_nothing(client: TalosClient) -> None:
    async with listening(silence) as address:
        error = await failing(lambda: out_of_time(client.node(address), "tls"))
    assert isinstance(error, Unreachable)
    assert "no TLS handshake after TCP connect within 120 s" in str(error)


async def test_it_finishes_tls_and_says_nothing(client: TalosClient, context: ssl.SSLContext) -> None:
    async with listening(silence, context) as address:
        error = await failing(lambda: out_of_time(client.node(address), "http2"))
    assert isinstance(error, Unreachable)
    assert "no HTTP/2 settings after the TLS handshake within 120 s" in str(error)


async def test_it_closes_at_once(client: TalosClient) -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        return None

    async with listening(close) as address:
        error = await failing(client.node(address).version)
    assert isinstance(error, Unreachable)
    assert isinstance(error, Temporary)


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH_9.9\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(range(256))])
async def test_it_does_not_speak_tls(client: TalosClient, said: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await reader.read(1)

    async with listening(talk) as address:
        error = await failing(client.node(address).version)
    assert isinstance(error, NotTalos)
    assert "TLS" in str(error)
    assert "50000" in error.hint


async def test_it_does_not_agree_on_http2(client: TalosClient, authority: CertificateAndKey) -> None:
    async with listening(silence, server_context(authority, alpn=False)) as address:
        error = await failing(client.node(address).version)
    assert isinstance(error, NotTalos)


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\n\r\n" * 9, b"\xff" * 10_000, bytes(20)])
async def test_it_does_not_speak_http2(client: TalosClient, context: ssl.SSLContext, said: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await for_ever()

    async with listening(talk, context) as address:
        error = await failing(client.node(address).version)
    assert isinstance(error, NotTalos)
    assert "HTTP/2" in str(error)


async def test_a_flood_that_is_not_http2(client: TalosClient, context: ssl.SSLContext) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"\x00" * 65536)
            await writer.drain()

    async with listening(talk, context) as address:
        error = await failing(client.node(address).version)
    assert isinstance(error, NotTalos)


def over_http2(act: Callable[[Http2Peer, int], Awaitable[None]]) -> Any:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Http2Peer(reader, writer)
        await act(peer, await peer.request())
        while True:
            await peer.events()

    return talk


async def test_a_message_of_a_gigabyte(client: TalosClient, context: ssl.SSLContext) -> None:
    """Refused by its announced length, though the data would come, too."""

    async def flood(peer: Http2Peer, stream: int) -> None:
        await peer.headers(stream)
        await peer.send(stream, b"\x00" + struct.pack(">I", GIGABYTE))
        for _ in range(GIGABYTE // 65536):
            if await peer.send(stream, bytes(65536)) < 65536:
                return

    async with listening(over_http2(flood), context) as address:
        node = client.node(address, "cp-1")
        error = await failing(node.version)
        assert isinstance(error, TooLarge)
        assert f"a message of {GIGABYTE} bytes, and {32 * 1024**2}" in str(error)


async def test_an_answer_of_many_messages_that_never_ends(client: TalosClient, context: ssl.SSLContext) -> None:
    piece = Data(bytes=bytes(50_000)).SerializeToString()

    async def flood(peer: Http2Peer, stream: int) -> None:
        await peer.headers(stream)
        while not peer.ended:
            await peer.send(stream, b"\x00" + struct.pack(">I", len(piece)) + piece)

    async with listening(over_http2(flood), context) as address:
        error = await failing(lambda: client.node(address).list("members"))
    assert isinstance(error, TooLarge)
    assert "100000" in str(error)


async def test_data_that_nobody_asked_for_is_not_piled_up(client: TalosClient, context: ssl.SSLContext) -> None:
    """A node may send no more than a window ahead of what is read."""

    async def flood(peer: Http2Peer, stream: int) -> None:
        await peer.headers(stream)
        reply = wire.VersionResponse(messages=[wire.Version()]).SerializeToString()
        await peer.send(stream, b"\x00" + struct.pack(">I", len(reply)) + reply)
        for _ in range(1000):
            await peer.send(stream, bytes(65536))

    async with listening(over_http2(flood), context) as address:
        error = await failing(client.node(address).version)
    assert isinstance(error, NotTalos)
    assert "a second message" in str(error)


async def test_an_answer_that_comes_drop_by_drop(client: TalosClient, context: ssl.SSLContext) -> None:
    clock = Clock()

    async def drip(peer: Http2Peer, stream: int) -> None:
        await peer.headers(stream)
        await peer.send(stream, b"\x00" + struct.pack(">I", 1000))
        for _ in range(999):
            await peer.send(stream, b"\x00")
            await asyncio.sleep(0.001)
            clock.forward(PATIENT.call_timeout / 100)

    async with listening(over_http2(drip), context) as address:
        node = client.node(address)
        await node.connect()
        error = await failing(node.version)
    assert isinstance(error, TooSlow)
    assert "no answer within 240 s" in str(error)


async def test_an_answer_that_never_comes(client: TalosClient, context: ssl.SSLContext) -> None:
    told: list[float] = []
    clock = Clock()

    async def wait(stream: Any) -> None:
        told.append(time.monotonic() + stream.deadline.time_remaining() - asked)
        clock.forward(PATIENT.call_timeout)
        await for_ever()

    async with serving(context, machine_Version=wait) as address:
        node = client.node(address, "cp-1")
        await node.connect()
        asked = time.monotonic()
        error = await failing(node.version)
    assert isinstance(error, TooSlow)
    assert "cp-1" in str(error)
    assert "Version" in str(error)
    assert "not known" in error.hint
    assert told[0] > PATIENT.call_timeout  # else the node ends the call before we can say why


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({":status": "404"}, b""),
        ({"content-type": "text/html"}, b"<html>"),
        ({}, b"\x00\x00\x00\x00\x05\xff\xff\xff\xff\xff"),  # not protobuf
        ({}, b"\x01\x00\x00\x00\x00"),  # said to be compressed
        ({}, b"\x00\x00\x00\x00\x09short"),
        ({"grpc-status": "99"}, b""),
        ({"grpc-status": "x"}, b""),
        ({"trailer-bin": "%%%"}, b""),
        ({}, b""),
    ],
)
async def test_an_answer_that_is_not_grpc(
    client: TalosClient, context: ssl.SSLContext, headers: dict[str, str], body: bytes
) -> None:
    async def talk(peer: Http2Peer, stream: int) -> None:
        fields = {":status": "200", "content-type": "application/grpc"} | headers
        peer.http2.send_headers(stream, list(fields.items()))
        await peer.send(stream, body)
        peer.http2.end_stream(stream)
        await peer.flush()

    async with listening(over_http2(talk), context) as address:
        error = await failing(client.node(address).version)
    assert isinstance(error, NotTalos)


async def test_frames_of_an_unknown_kind_are_ignored(client: TalosClient, context: ssl.SSLContext) -> None:
    reply = wire.VersionResponse(messages=[wire.Version(version=wire.VersionInfo(tag="v9"))]).SerializeToString()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Http2Peer(reader, writer)
        stream = await peer.request()
        writer.write(b"\x00\x00\x04\xfa\x00\x00\x00\x00\x00what")  # length 4, kind 0xfa
        await peer.headers(stream)
        await peer.send(stream, b"\x00" + struct.pack(">I", len(reply)) + reply)
        peer.http2.send_headers(stream, [("grpc-status", "0")], end_stream=True)
        await peer.flush()
        await peer.events()

    async with listening(talk, context) as address:
        assert (await client.node(address).version()).tag == "v9"


async def test_garbage_in_the_midst_of_an_answer(client: TalosClient, context: ssl.SSLContext) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Http2Peer(reader, writer)
        await peer.headers(await peer.request())
        writer.write(b"\xff" * 100_000)
        await for_ever()

    async with listening(talk, context) as address:
        error = await failing(client.node(address).version)
    assert isinstance(error, NotTalos)
    assert "not HTTP/2" in str(error)


async def test_the_connection_is_cut_in_the_midst_of_a_call(client: TalosClient, context: ssl.SSLContext) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Http2Peer(reader, writer)
        await peer.request()

    async with listening(talk, context) as address:
        error = await failing(client.node(address).version)
    assert isinstance(error, Unreachable)
    assert "connection was lost" in str(error)


async def test_words_of_a_node_cannot_play_with_the_terminal(client: TalosClient, context: ssl.SSLContext) -> None:
    nasty = "\x1b[2J\x1b]0;owned\x07" + "x" * 100_000
    metadata = {"hostname": "\x1b[31mcp", "error": nasty}
    reply = wire.HostnameResponse(messages=[wire.Hostname(metadata=metadata)])
    async with serving(context, machine_Hostname=answer(reply)) as address:
        error = await failing(client.node(address).hostname)
    assert "\x1b" not in str(error) + error.said
    assert "\x07" not in str(error)
    assert len(str(error)) < 3000


async def test_a_line_without_end_does_not_fill_the_memory(client: TalosClient, context: ssl.SSLContext) -> None:
    pieces = [Data(bytes=b"x" * 100_000)] * 50
    async with serving(context, machine_Logs=answers(*pieces)) as address:
        node = client.node(address)
        lengths = [len(line) async for line in node.logs("apid", timeout=120)]
    assert sum(lengths) == 5_000_000
    assert max(lengths) <= 1024 * 1024
