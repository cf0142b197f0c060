"""Connections to nodes: accepted on a machine's address, secured with its certificate, closed when it goes down."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from asyncio.transports import BaseTransport, Transport
from functools import partial
from typing import Any, cast

from google.protobuf.empty_pb2 import Empty
from grpclib.const import Cardinality, Status
from grpclib.const import Handler as MethodHandler
from grpclib.protocol import H2Protocol
from grpclib.server import Handler, Server, Stream

from talosmith_lab.server.dispatch import handle
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.methods import Method, fail, methods
from talosmith_lab.server.roles import READER
from talosmith_lab.server.tls import roles_in

_GRACE = 2.0  # seconds for calls that are being answered when a node goes down …
_LAST_WORDS = 0.2  # … and for what is already on its way


class Connection:
    """One client at one node, from one boot of it."""

    def __init__(self, engine: Engine, machine: str, boot: int, maintenance: bool) -> None:
        self.engine = engine
        self.machine = machine
        self.boot = boot
        self.maintenance = maintenance
        self.client = ""
        self.transport: Transport | None = None
        self._roles: frozenset[str] = frozenset()
        self._answering = 0
        self._streaming = 0
        self._closing = False

    @property
    def roles(self) -> frozenset[str]:
        return self._roles

    def made(self, transport: Transport) -> bool:
        """Whether the node wants to talk to this client."""
        self.transport = transport
        if self._closing:  # it went down while the two were still greeting
            return False
        if self.maintenance:
            self._roles = frozenset({READER})
            self.client = str(transport.get_extra_info("peername")[0])
            return True
        security = cast(ssl.SSLObject, transport.get_extra_info("ssl_object"))
        certificate = security.getpeercert(binary_form=True)
        machine = self.engine.world.machines.get(self.machine)
        if certificate is None or machine is None:
            return False
        self.client = hashlib.sha256(certificate).hexdigest()
        found = roles_in(certificate, self.engine.world.clock_of(machine))
        self._roles = found or frozenset()
        return found is not None

    def get(self, path: str) -> MethodHandler:
        """What the protocol looks methods up in."""
        method = methods().get(path)
        if method is None:
            return MethodHandler(_unknown, Cardinality.UNARY_UNARY, Empty, Empty)
        return MethodHandler(partial(self._handle, method), method.cardinality, method.request, method.reply)

    async def _handle(self, method: Method, stream: Stream[Any, Any]) -> None:
        if self._closing:
            raise fail(Status.UNAVAILABLE, "the server is stopping")
        streams = method.cardinality is Cardinality.UNARY_STREAM
        self._answering += not streams
        self._streaming += streams
        try:
            await handle(self.engine, self, method, stream)
        finally:
            self._answering -= not streams
            self._streaming -= streams
            self._close_if_idle()

    def close(self) -> None:
        """The node goes down in an orderly way: calls get their answers, streams tell what they still have to."""
        if self._closing:
            return
        self._closing = True
        if self._answering or self._streaming:
            loop = asyncio.get_running_loop()
            loop.call_later(_GRACE if self._answering else _LAST_WORDS, self.abort)
        else:
            self.abort()

    def _close_if_idle(self) -> None:
        if self._closing and not self._answering and not self._streaming:
            # The answer itself is sent after this.
            asyncio.get_running_loop().call_later(_LAST_WORDS, self.abort)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()


async def _unknown(stream: Stream[Any, Any]) -> None:
    """The protocol's own refusal has no content type, which clients take for a broken server."""
    raise fail(Status.UNIMPLEMENTED, "the lab does not have this method")


class Protocols(Server):
    """Makes the protocol of each connection. All share one server's settings, none its sockets."""

    def __init__(self) -> None:
        super().__init__([])

    def protocol(self, connection: Connection) -> H2Protocol:
        handler = Handler(cast(Any, connection), self._codec, None, self.__dispatch__)
        return _Protocol(connection, handler, self._config, self._h2_config)


class _Protocol(H2Protocol):
    def __init__(self, connection: Connection, *rest: Any) -> None:
        super().__init__(*rest)
        self._of = connection

    def connection_made(self, transport: BaseTransport) -> None:
        wanted = self._of.made(cast(Transport, transport))
        super().connection_made(transport)
        if not wanted:
            self._of.abort()
