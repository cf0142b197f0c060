"""One connection to one node: made when first needed, kept open, made again when it was lost.

Connecting is over when the node has shown to speak HTTP/2, not before: a node that refuses our certificate says so
only after TLS looks done, and by then a request would drown the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import Any

from grpclib.client import Channel, Handler
from grpclib.const import Cardinality
from grpclib.encoding.proto import ProtoCodec
from grpclib.metadata import Deadline
from multidict import MultiDict

from talosmith.talos.address import Address
from talosmith.talos.errors import NotTalos, TalosError
from talosmith.talos.grpc import connecting
from talosmith.talos.grpc.call import Call, RecvT, SendT
from talosmith.talos.grpc.http2 import WINDOWS, NodeProtocol
from talosmith.talos.grpc.trust import Trust

_GOODBYE = 1.0  # seconds for ending TLS politely
_LONGER = 2.0
_KEEPALIVE = {  # a dead node is noticed after 25 s; HTTP/2 pings would do too, but nodes cut off who sends many
    "TCP_KEEPIDLE": 10,
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 25_000,
}


class NodeChannel(Channel):
    """`label` names the node in errors."""

    def __init__(self, address: Address, trust: Trust, label: str, connect_timeout: float) -> None:
        # The codec is given, else grpclib looks for a package that decodes details of errors.
        super().__init__(address.host, address.port, codec=ProtoCodec(), ssl=trust.context, config=WINDOWS)
        self.address = address
        self.trust = trust
        self.label = label
        self.stage = "idle"
        self._connect_timeout = connect_timeout
        self._leaving: list[NodeProtocol] = []  # connections on which only answers are awaited

    @property
    def protocol(self) -> NodeProtocol | None:
        assert self._protocol is None or isinstance(self._protocol, NodeProtocol)  # noqa: S101
        return self._protocol

    def call(
        self,
        name: str,
        cardinality: Cardinality,
        types: tuple[type[SendT], type[RecvT]],
        *,
        timeout: float,
        metadata: dict[str, str],
        limit: int,
        budget: int,
    ) -> Call[SendT, RecvT]:
        return Call(
            self,
            name,
            MultiDict(metadata),
            cardinality,
            *types,
            codec=self._codec,
            status_details_codec=None,
            dispatch=self.__dispatch__,
            # The node is told a little more: our own deadline is exact, and says that it was one.
            deadline=Deadline.from_timeout(timeout + _LONGER),
            patience=timeout,
            limit=limit,
            budget=budget,
        )

    def _protocol_factory(self) -> NodeProtocol:
        return NodeProtocol(Handler(), self._config, self._h2_config)

    def exchange(self, trust: Trust) -> None:
        """Secure connections like this from now on. Calls that run end on the connection that they began on."""
        self.trust = trust
        if self.protocol is not None:
            self.protocol.leave()

    async def _create_connection(self) -> NodeProtocol:
        while True:
            trust = self.trust
            try:
                protocol = await self._connect()
            except TalosError:
                if self.trust is trust:
                    raise
            else:
                if self.trust is trust:
                    return protocol
                protocol.leave()  # exchanged while connecting

    async def _connect(self) -> NodeProtocol:
        self._leaving = [old for old in (*self._leaving, self.protocol) if old and not old.gone.is_set()]
        self.trust.before(self.label)
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await self._connected_protocol()
        except TimeoutError:
            raise connecting.too_slow(self.label, self.stage, self._connect_timeout) from None
        except ssl.SSLCertVerificationError as wrong:
            raise await connecting.not_trusted(
                self.label, self.address, wrong, self.trust, self._connect_timeout
            ) from None
        except OSError as wrong:
            raise connecting.failed(self.label, self.address, self.stage, wrong, self.trust) from None

    async def _connected_protocol(self) -> NodeProtocol:
        self.stage = "tcp"
        plain = await _connected_socket(self.address)
        self.stage = "tls"
        try:
            transport, protocol = await self._loop.create_connection(
                self._protocol_factory,
                sock=plain,
                ssl=self.trust.context,
                server_hostname=self.address.host.partition("%")[0],
                ssl_handshake_timeout=self._connect_timeout + 1,  # ours comes first and says more
                ssl_shutdown_timeout=_GOODBYE,
            )
        except BaseException:
            plain.close()
            raise
        try:
            self._check(transport, protocol)
            self.stage = "http2"
            await protocol.settled.wait()
            if protocol.reason:
                raise connecting.ended(self.label, protocol, self.trust)
        except BaseException:
            transport.abort()
            raise
        self.stage = "ready"
        return protocol

    def _check(self, transport: asyncio.BaseTransport, protocol: NodeProtocol) -> None:
        secured: ssl.SSLObject = transport.get_extra_info("ssl_object")
        if secured.selected_alpn_protocol() != "h2":
            raise NotTalos(self.label, "answers with TLS, but does not speak HTTP/2", hint=connecting.IS_IT_TALOS)
        self.trust.check(self.label, protocol.certificate)

    async def aclose(self) -> None:
        """Ends the connection, politely if the node goes along with it."""
        protocols = [old for old in (*self._leaving, self.protocol) if old]
        self._leaving = []
        self.close()
        for protocol in protocols:
            protocol.processor.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GOODBYE):
                    await protocol.gone.wait()
            protocol.abort()


async def _connected_socket(address: Address) -> socket.socket:
    loop = asyncio.get_running_loop()
    if address.is_ip and "%" not in address.host:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        targets: list[tuple[int, tuple[Any, ...]]] = [(family, (address.host, address.port))]
    else:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        targets = [(found_family, place) for found_family, _, _, _, place in found]
    problem = OSError(f"{address.host} has no address")
    for kind, place in targets:
        plain = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # grpclib asks for exactly this kind
        try:
            plain.setblocking(False)
            _keep_alive(plain)
            await loop.sock_connect(plain, place)
        except OSError as wrong:
            plain.close()
            problem = wrong
        except BaseException:
            plain.close()
            raise
        else:
            return plain
    raise problem


def _keep_alive(plain: socket.socket) -> None:
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not every system has all of them
            plain.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
