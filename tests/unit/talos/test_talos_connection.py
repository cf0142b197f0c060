"""Connections are shared, kept, made again; many calls go at once; cancelling works as everywhere else."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from typing import Any

import pytest
from h2.events import RequestReceived, StreamEnded

from talosmith.desired.pki import CertificateAndKey
from talosmith.talos import Credentials, Limits, TalosClient, TooSlow, Unreachable
from talosmith.talos.grpc.transport import Gathering
from talosmith.talos.proto import machine_pb2 as wire
from talosmith.talos.proto.common_pb2 import Data
from talosmith.waiting import limited
from tests.clock import Clock
from tests.loopback import unused_port
from tests.unit.talos.conftest import PATIENT
from tests.unit.talos.server import Counting, Http2Peer, for_ever, listening, never, server_context, serving


async def test_all_calls_to_a_node_share_one_connection(client: TalosClient, context: ssl.SSLContext) -> None:
    hostname = Counting(wait_for=50)  # none is answered before all are there
    async with serving(context, machine_Hostname=hostname) as address:
        names = await asyncio.gather(*(client.node(address).hostname() for _ in range(50)))
        assert set(names) == {"cp-1"}
        assert hostname.most_at_work == 50
        assert len(hostname.peers) == 1


async def test_a_lost_connection_is_made_again(client: TalosClient, context: ssl.SSLContext, port: int) -> None:
    """As after a reboot: one error at most, then the node answers."""
    hostname = Counting()
    async with serving(context, port=port, machine_Hostname=hostname) as address:
        node = client.node(address)
        await node.hostname()
    with pytest.raises(Unreachable):
        await node.hostname()
    async with serving(context, port=port, machine_Hostname=hostname):
        assert await node.hostname() == "cp-1"
    assert len(hostname.peers) == 2


async def test_a_connection_that_died_silently_is_given_up(client: TalosClient, context: ssl.SSLContext) -> None:
    """As after a power loss: nothing is said any more, not even to a ping, and yet the next calls must work."""
    asked, silent, clock = asyncio.Event(), True, Clock()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Http2Peer(reader, writer)
        stream = await peer.request()
        asked.set()
        if silent:
            await for_ever()
        reply = wire.HostnameResponse(messages=[wire.Hostname(hostname="again")]).SerializeToString()
        await peer.headers(stream)
        await peer.send(stream, b"\x00" + len(reply).to_bytes(4, "big") + reply)
        peer.http2.send_headers(stream, [("grpc-status", "0")], end_stream=True)
        await peer.flush()
        await peer.events()

    async with listening(talk, context) as address:
        node = client.node(address)
        calling = asyncio.create_task(node.hostname())
        await asked.wait()
        first = node._channel.protocol
        clock.forward(PATIENT.call_timeout)
        with pytest.raises(TooSlow):
            await calling
        silent = False
        assert first is not None
        assert not first.gone.is_set()
        clock.forward(5)  # within which a ping would have been answered
        async with asyncio.timeout(120):
            await first.gone.wait()
        assert await node.hostname() == "again"


async def test_through_another_node(client: TalosClient, context: ssl.SSLContext) -> None:
    hostname = Counting()
    async with serving(context, machine_Hostname=hostname) as gate:
        worker = client.node("10.5.0.9", "w-1", via=gate)
        assert await worker.hostname() == "cp-1"
        assert await client.node(gate).hostname() == "cp-1"
    assert [metadata.get("node") for metadata in hostname.metadata] == ["10.5.0.9", None]
    assert len(hostname.peers) == 1


async def test_closing_ends_the_connections_and_a_later_call_makes_new_ones(
    context: ssl.SSLContext, credentials: Credentials
) -> None:
    hostname = Counting()
    async with serving(context, machine_Hostname=hostname) as address:
        async with TalosClient(credentials, limits=PATIENT) as client:
            node = client.node(address)
            await node.hostname()
            assert node._channel.protocol is not None
            protocol = node._channel.protocol
        assert node._channel.protocol is None
        async with asyncio.timeout(120):  # a node that does not say goodbye in time is left without
            await protocol.gone.wait()
        assert await node.hostname() == "cp-1"
        await node.close()
    assert len(hostname.peers) == 2


async def test_a_timeout_around_a_call_is_the_callers_own(client: TalosClient, context: ssl.SSLContext) -> None:
    async with serving(context, machine_Hostname=never) as address:
        node = client.node(address)
        await node.connect()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await node.hostname()
        async with limited(0.1) as limit:
            await node.hostname()
        assert limit.over


async def test_a_deadline_leaves_no_mark_of_cancellation(context: ssl.SSLContext, credentials: Credentials) -> None:
    """Task groups and timeouts around it count such marks, and would cancel what comes next."""
    async with (
        serving(context, machine_Hostname=never) as address,
        TalosClient(credentials, limits=Limits(connect_timeout=120, call_timeout=0.1)) as client,
    ):
        task = asyncio.current_task()
        assert task is not None
        node = client.node(address)
        await node.connect()  # not within the deadline
        async with asyncio.TaskGroup() as group, asyncio.timeout(120):
            with pytest.raises(TooSlow):
                await node.hostname()
            assert task.cancelling() == 0
            group.create_task(asyncio.sleep(0))
        await asyncio.sleep(0.01)


async def test_a_stream_that_is_left_early_is_ended_at_the_node(client: TalosClient, context: ssl.SSLContext) -> None:
    ended = asyncio.Event()

    async def follow(stream: Any) -> None:
        await stream.recv_message()
        try:
            while True:
                await stream.send_message(Data(bytes=b"line\n"))
                await asyncio.sleep(0.01)
        finally:
            ended.set()

    async with serving(context, machine_Logs=follow, machine_Hostname=Counting()) as address:
        node = client.node(address)
        lines = []
        async for line in node.logs("kubelet", follow=True):
            lines.append(line)
            if len(lines) == 3:
                break
        async with asyncio.timeout(120):
            await ended.wait()
        assert await node.hostname() == "cp-1"
    assert lines == ["line"] * 3


async def test_a_node_prints_its_name_and_address_and_nothing_else(client: TalosClient) -> None:
    assert repr(client.node("10.0.0.1", "cp-1")) == "TalosNode(cp-1 (10.0.0.1))"


async def test_small_packets_do_not_wait(client: TalosClient, context: ssl.SSLContext) -> None:
    """For each other's acknowledgement, which takes 40 ms: the kernel is told to send them as they are."""
    async with serving(context, machine_Hostname=Counting()) as address:
        node = client.node(address)
        await node.hostname()
        protocol = node._channel.protocol
        assert protocol is not None
        assert protocol._transport is not None
        plain: socket.socket = protocol._transport.get_extra_info("socket")
        assert plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


REPLY = wire.HostnameResponse(messages=[wire.Hostname(hostname="cp-1")]).SerializeToString()


def going_away(last_stream: int, code: int = 0) -> bytes:
    """A frame of kind 7 by hand: h2 itself would not let anything follow it."""
    return b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + struct.pack(">II", last_stream, code)


async def reply_to(peer: Http2Peer, stream: int) -> None:
    await peer.headers(stream)
    await peer.send(stream, b"\x00" + struct.pack(">I", len(REPLY)) + REPLY)
    peer.http2.send_headers(stream, [("grpc-status", "0")], end_stream=True)
    await peer.flush()


async def test_a_node_that_restarts_its_api_still_answers_what_it_was_asked(
    client: TalosClient, context: ssl.SSLContext
) -> None:
    """It says first that it takes no more calls. The next one is made over a new connection."""
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        peer = Http2Peer(reader, writer)
        stream = await peer.request()
        writer.write(going_away(2**31 - 1))
        await asyncio.sleep(0.05)
        writer.write(going_away(stream))
        await reply_to(peer, stream)
        while True:
            await peer.events()

    async with listening(talk, context) as address:
        node = client.node(address)
        assert await node.hostname() == "cp-1"
        assert await node.hostname() == "cp-1"
        assert connections == 2
        await node.close()


async def test_a_call_that_came_too_late_for_a_restarting_node(client: TalosClient, context: ssl.SSLContext) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Http2Peer(reader, writer)
        await peer.request()
        writer.write(going_away(0))
        while True:
            await peer.events()

    async with listening(talk, context) as address:
        with pytest.raises(Unreachable, match="takes no more calls"):
            await client.node(address).hostname()


async def test_a_node_that_ends_the_connection_for_a_reason(client: TalosClient, context: ssl.SSLContext) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Http2Peer(reader, writer)
        await peer.request()
        writer.write(going_away(2**31 - 1, code=11))
        while True:
            await peer.events()

    async with listening(talk, context) as address:
        with pytest.raises(Unreachable, match="GOAWAY"):
            await client.node(address).hostname()


async def test_an_answer_with_which_the_connection_ends(
    client: TalosClient, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both come at once, before anybody could look at the answer; it counts."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Http2Peer(reader, writer)
        stream = await peer.request()
        peer.http2.send_headers(stream, [(":status", "200"), ("content-type", "application/grpc")])
        peer.http2.send_data(stream, b"\x00" + struct.pack(">I", len(REPLY)) + REPLY)
        peer.http2.send_headers(stream, [("grpc-status", "0")], end_stream=True)
        await peer.flush()
        await peer.events()

    async with listening(talk, context) as address:
        node = client.node(address)
        await node.connect()
        protocol = node._channel.protocol
        assert protocol is not None
        received = protocol.data_received

        def received_and_lost(data: bytes) -> None:
            received(data)
            if any(stream.trailers for stream in protocol.processor.streams.values()):
                protocol.connection_lost(ConnectionResetError())

        monkeypatch.setattr(protocol, "data_received", received_and_lost)
        assert await node.hostname() == "cp-1"


async def test_a_call_leaves_in_one_packet(client: TalosClient, context: ssl.SSLContext) -> None:
    """Headers and message together, which halves what a call costs."""
    together: list[bool] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Http2Peer(reader, writer)
        await peer.flush()
        while True:
            events = await peer.events()
            for event in events:
                if isinstance(event, RequestReceived):
                    together.append(any(isinstance(other, StreamEnded) for other in events))
                    await reply_to(peer, event.stream_id)

    async with listening(talk, context) as address:
        for _ in range(3):
            assert await client.node(address).hostname() == "cp-1"
    assert together == [True] * 3


async def test_an_open_connection_takes_little_memory(client: TalosClient, context: ssl.SSLContext) -> None:
    """asyncio gives each 256 KiB to read into; with a thousand nodes that is most of what may be used."""
    async with serving(context, machine_Hostname=Counting()) as address:
        node = client.node(address)
        await node.connect()
        protocol = node._channel.protocol
        assert protocol is not None
        inner: Any = protocol._transport._transport._ssl_protocol  # type: ignore[union-attr]
        assert len(inner._ssl_buffer) <= 32 * 1024
        assert await node.hostname() == "cp-1"
        assert len(inner._ssl_buffer) <= 32 * 1024


@pytest.mark.real
async def test_a_node_with_nothing_but_ipv6(client: TalosClient, authority: CertificateAndKey) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    context = server_context(authority, names=("::1",))
    with unused_port("::1") as port:
        async with serving(context, host="::1", port=port, machine_Hostname=Counting()) as address:
            assert await client.node(f"[::1]:{port}").hostname() == "cp-1"
            assert f"[::1]:{port}" in repr(client.node(address, "cp-1"))
        with pytest.raises(Unreachable, match="connection refused"):
            await client.node(f"[::1]:{port}").hostname()


async def test_a_transport_that_is_closed_twice_can_still_be_aborted() -> None:
    """asyncio of Python 3.11.2, which is Debian 12's, forgets what it needs for that when it is closed again."""

    class Transport(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.calls: list[str] = []

        def is_closing(self) -> bool:
            return bool(self.calls)

        def close(self) -> None:
            self.calls.append("close")

        def abort(self) -> None:
            assert self.calls.count("close") < 2, "AttributeError: 'NoneType' object has no attribute '_abort'"
            self.calls.append("abort")

    inner = Transport()
    outer = Gathering(inner)
    outer.close()
    outer.close()
    outer.abort()
    assert inner.calls == ["close", "abort"]


@pytest.mark.parametrize("abrupt", [True, False], ids=["reset", "closed"])
async def test_a_connection_closed_during_the_tls_handshake_has_a_cause(client: TalosClient, abrupt: bool) -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if abrupt:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()

    async with listening(close) as address:
        with pytest.raises(Unreachable, match=r"connection closed during the TLS handshake \(.+\)"):
            await client.node(address).version()
