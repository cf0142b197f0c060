"""The HTTP/2 side of a connection, made to say why it ended, to bear what it does not know, and to end in order.

grpclib and h2 do the work; these classes change only what a hostile or dying node could make of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from grpclib.config import Configuration
from grpclib.protocol import AbstractHandler, Connection, EventsProcessor, H2Protocol, Stream
from h2.config import H2Configuration
from h2.errors import ErrorCodes
from h2.events import Event, RemoteSettingsChanged
from hyperframe.frame import GoAwayFrame

from talosmith.probe import certificate_of
from talosmith.talos.grpc.headers import LiteralEncoder
from talosmith.talos.grpc.transport import Gathering, slim

# What a node may send ahead of our reading; with the small default windows a snapshot comes at a third of the speed.
WINDOWS = Configuration(http2_connection_window_size=4 * 1024**2, http2_stream_window_size=2 * 1024**2)
_PING = b"talosmth"  # any eight bytes
_PING_ANSWER = 2.0  # seconds
_SPEAK_FIRST = 0.3  # seconds


class Nonsense(Exception):
    """What came is not gRPC."""


class _Processor(EventsProcessor):
    def __init__(self, handler: AbstractHandler, connection: Connection, protocol: NodeProtocol) -> None:
        super().__init__(handler, connection)
        self._protocol = protocol

    def process(self, event: Event) -> None:
        # Frames of unknown types are allowed, and must be ignored.
        if event.__class__ in getattr(self, "processors", {}):
            super().process(event)

    def process_remote_settings_changed(self, event: RemoteSettingsChanged) -> None:
        super().process_remote_settings_changed(event)
        self._protocol.settle()

    def register(self, stream: Stream) -> Callable[[], None]:
        release = super().register(stream)

        def release_and_leave() -> None:
            release()
            self._protocol.leave_if_done()

        return release_and_leave

    def close(self, reason: str = "Connection closed") -> None:
        self._protocol.end(reason)
        for stream in self.streams.values():
            if stream.buffer._eof:  # its answer is complete and only waits to be read
                stream.wrapper = None
        super().close(reason)


class NodeProtocol(H2Protocol):
    """`settled` is set when the other side has shown to speak HTTP/2, or the connection has ended."""

    def __init__(self, handler: AbstractHandler, config: Configuration, h2_config: H2Configuration) -> None:
        super().__init__(handler, config, h2_config)
        self.settled = asyncio.Event()
        self.gone = asyncio.Event()
        self.leaving = False
        self.reason = ""
        self.cause: BaseException | None = None
        self.certificate = b""  # the node's, taken while it is sure to be there
        self._transport: Gathering | None = None
        self._heard = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream's transport is one
        self.certificate = certificate_of(transport)
        slim(transport)
        self._transport = Gathering(transport)
        # Servers speak first, as ours do; one that waits for us to begin is given its way.
        self._speaking = asyncio.get_running_loop().call_later(_SPEAK_FIRST, self._transport.release)
        super().connection_made(self._transport)
        self.processor = _Processor(self.handler, self.connection, self)
        self.connection._connection.encoder = LiteralEncoder()
        frames: dict[type, Any] = self.connection._connection._frame_dispatch_table
        self._end_at_once = frames[GoAwayFrame]
        frames[GoAwayFrame] = self._go_away

    def data_received(self, data: bytes) -> None:
        self._heard = time.monotonic()
        try:
            super().data_received(data)
            self._refuse_overlong_frame()
        except Exception as wrong:  # whatever the parser makes of hostile bytes
            self.cause = wrong
            self.processor.close("Protocol error")

    def _refuse_overlong_frame(self) -> None:
        """By its announced length, which is what garbage looks like. h2 would first wait for all of it to come."""
        waiting = self.connection._connection.incoming_buffer
        if int.from_bytes(waiting._data[:3], "big") > waiting.max_frame_size:
            raise Nonsense("a frame longer than allowed")

    def _go_away(self, frame: GoAwayFrame) -> Any:
        """A node that restarts its API says that it takes no more calls, and answers those it has.

        h2 would refuse these answers, among them that of the very call which made the node restart.
        """
        if frame.error_code != ErrorCodes.NO_ERROR:
            return self._end_at_once(frame)
        self._take_no_more_calls()
        for number, stream in self.processor.streams.items():
            if number > frame.last_stream_id:
                stream.__terminated__("The node takes no more calls on this connection")
        self.leave_if_done()
        return [], []

    def leave(self) -> None:
        """Take no more calls, and end once those that run have their answers."""
        self._take_no_more_calls()
        self.leave_if_done()

    def _take_no_more_calls(self) -> None:
        self.leaving = True
        self.handler.close()  # the next call makes a new connection

    def leave_if_done(self) -> None:
        if self.leaving and not self.processor.streams and not self.connection.is_closing():
            asyncio.get_running_loop().call_soon(self.processor.close, "No more calls on this connection")

    def connection_lost(self, exc: BaseException | None) -> None:
        self.cause = self.cause or exc
        super().connection_lost(exc)
        self.gone.set()

    def settle(self) -> None:
        if self._transport is not None and not self.settled.is_set():
            self._speaking.cancel()
            self._transport.release()
        self.settled.set()

    def end(self, reason: str) -> None:
        """The first reason counts; what follows only follows from it."""
        self.reason = self.reason or reason
        self._speaking.cancel()
        self.settled.set()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def suspect(self) -> None:
        """After a call without answer: if no ping comes back either, ends the connection; the next call makes one."""
        if self.connection.is_closing():
            return
        asked = time.monotonic()
        self.connection._connection.ping(_PING)
        self.connection.flush()

        def judge() -> None:
            if self._heard < asked:
                self.abort()

        asyncio.get_running_loop().call_later(_PING_ANSWER, judge)
