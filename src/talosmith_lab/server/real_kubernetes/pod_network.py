"""The way from the real API server to pods, which do not exist: the lab answers in the place of those that are ready.

The API server calls admission webhooks and the servers of APIServices by an HTTP CONNECT proxy (its egress selector
`cluster`). The lab is that proxy: an address of a Service that has a ready pod is answered, any other is refused at
once, as a node does that has no pod to send a packet to.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from asyncio.transports import BaseTransport, Transport
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from talosmith.desired.certificate_file import show_certificate
from talosmith.desired.pki import SERVER, CertificateAndKey, new_leaf
from talosmith_lab.server.kube.http import Answer, Connection, Exchange, Request
from talosmith_lab.server.secure import Secured

_CONNECT = re.compile(rb"CONNECT (\S+):\d+ HTTP/1\.[01]\r\n")
_MOST_HEAD = 8192
_LIFETIME = timedelta(days=365)
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_REFUSED = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class PodNetwork:
    """Serves in the name of Services that have a ready pod, of which `ready` is told."""

    def __init__(self, authority: CertificateAndKey) -> None:
        self.authority = authority
        self._services: dict[str, str] = {}  # `10.96.7.1` -> `cert-manager-webhook.cert-manager.svc`
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._connections: dict[Connection, str] = {}  # with the address that they are to
        self._server: asyncio.Server | None = None

    async def start(self, host: str, callers: str) -> int:
        """The port that it listens on, for clients with a certificate of the authority `callers` (PEM)."""
        context = _context(self.authority, host)
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=callers)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Proxy(self), host, 0, ssl=context)
        return int(self._server.sockets[0].getsockname()[1])

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self.ready({})

    def ready(self, services: dict[str, str]) -> None:
        """The names of Services with a ready pod, by their addresses; connections to others break with their pods."""
        self._services = services
        for connection, address in list(self._connections.items()):
            if address not in services:
                connection.abort()

    def behind(self, address: str) -> Secured | None:
        """Who answers at an address; None: no pod does."""
        name = self._services.get(address)
        if name is None:
            return None
        context = self._contexts.get(name)
        if context is None:
            context = self._contexts[name] = _context(self.authority, name)

        def made() -> Connection:
            connection = Connection(answer, lambda _: True, self._gone)
            self._connections[connection] = address
            return connection

        return Secured(context, made, lambda: None)

    def _gone(self, connection: Connection) -> None:
        self._connections.pop(connection, None)


class _Proxy(asyncio.Protocol):
    def __init__(self, network: PodNetwork) -> None:
        self._network = network
        self._head = b""
        self._transport: Transport

    def connection_made(self, transport: BaseTransport) -> None:
        self._transport = cast(Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._head += data
        head, end, rest = self._head.partition(b"\r\n\r\n")
        if not end and len(head) <= _MOST_HEAD:
            return
        asked = _CONNECT.match(head + b"\r\n")
        behind = self._network.behind(asked[1].decode().strip("[]")) if asked else None
        if behind is None:
            self._transport.write(_REFUSED)
            self._transport.close()
            return
        self._transport.write(_ESTABLISHED)
        self._transport.set_protocol(behind)
        behind.connection_made(self._transport)
        if rest:
            behind.data_received(rest)


def _context(authority: CertificateAndKey, name: str) -> ssl.SSLContext:
    start = datetime.now(UTC) - timedelta(hours=1)
    pair = new_leaf(authority, [], lifetime=_LIFETIME, usages=(SERVER,), common_name=name, names=(name,), now=start)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    show_certificate(context, pair.certificate, pair.key)
    return context


def answer(request: Request, exchange: Exchange) -> Answer:
    """What any webhook says, which is yes; what any server of an API has, which is nothing."""
    if request.method == "POST":
        return _review(request)
    parts = request.path.strip("/").split("/")
    if len(parts) == 3 and parts[0] == "apis":
        listed = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "/".join(parts[1:]), "resources": []}
        return Answer(200, json.dumps(listed).encode())
    return Answer(404, b"404 page not found\n", "text/plain")


def _review(request: Request) -> Answer:
    try:
        review: Any = json.loads(request.body)
        told = {"uid": review["request"]["uid"], "allowed": True}
        body = {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": told}
    except (ValueError, KeyError, TypeError):
        return Answer(400, b"no review\n", "text/plain")
    return Answer(200, json.dumps(body).encode())
