"""A node to test the client with: real TLS, real HTTP/2, and answers that each test chooses."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import h2.config
import h2.connection
import h2.events
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from google.protobuf.message_factory import GetMessageClass
from grpclib import const
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from grpclib.protocol import H2Protocol
from grpclib.server import Server

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.talos import Address, Credentials
from talosmith.talos.proto import cluster_pb2, cosi_pb2, image_pb2, lifecycle_pb2, storage_pb2, time_pb2
from talosmith.talos.proto import machine_pb2 as wire

Handler = Callable[[Any], Awaitable[None]]
SERVICES = {
    "machine": wire,
    "storage": storage_pb2,
    "time": time_pb2,
    "cluster": cluster_pb2,
    "image": image_pb2,
    "lifecycle": lifecycle_pb2,
    "state": cosi_pb2,
}
LOOPBACK = "127.0.0.1"


async def for_ever() -> None:
    """Until the test is over, whatever its clock says."""
    await asyncio.Event().wait()


def new_authority(kind: KeyKind = KeyKind.ED25519) -> CertificateAndKey:
    return pki.new_authority("talos", kind)


def expired_twin(authority: CertificateAndKey) -> CertificateAndKey:
    """Same name and key, long ago: what is verified with it has expired."""
    certificate, key = pki.read_certificate(authority.certificate), pki.read_key(authority.key)
    long_ago = datetime.now(UTC) - timedelta(days=9)
    builder = x509.CertificateBuilder().subject_name(certificate.subject).issuer_name(certificate.subject)
    builder = builder.public_key(certificate.public_key()).serial_number(1).not_valid_before(long_ago)
    builder = builder.not_valid_after(long_ago + timedelta(days=1))
    for extension in certificate.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    pem = builder.sign(key, None).public_bytes(Encoding.PEM).decode()
    return CertificateAndKey(pem, authority.key)


def new_credentials(authority: CertificateAndKey, roles: tuple[str, ...] = ("os:admin",)) -> Credentials:
    client = pki.new_leaf(authority, roles, lifetime=timedelta(hours=1))
    return Credentials(authority.certificate, client.certificate, client.key)


def server_context(
    authority: CertificateAndKey,
    *,
    clients: CertificateAndKey | None = None,
    names: tuple[str, ...] = (LOOPBACK, "localhost"),
    start: datetime | None = None,
    lifetime: timedelta = timedelta(hours=1),
    usages: Any = (pki.SERVER,),
    common_name: str = "",
    ask_clients: bool = True,
    alpn: bool = True,
) -> ssl.SSLContext:
    """As apid has it: TLS 1.3, a leaf of the authority, and only clients of the cluster's authority."""
    leaf = pki.new_leaf(
        authority,
        [],
        lifetime=lifetime,
        usages=usages,
        names=names,
        now=start or datetime.now(UTC),
        common_name=common_name,
    )
    return context_of(leaf, (clients or authority) if ask_clients else None, alpn=alpn)


def context_of(leaf: CertificateAndKey, clients: CertificateAndKey | None, *, alpn: bool = True) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    if alpn:
        context.set_alpn_protocols(["h2"])
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.certificate)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(leaf.certificate + leaf.key.reveal().replace("ED25519 PRIVATE KEY", "PRIVATE KEY"))
        file.flush()
        context.load_cert_chain(file.name)
    return context


def maintenance_context() -> ssl.SSLContext:
    """As a node shows it before it has a config: made by itself, for nobody in particular."""
    return server_context(
        new_authority(), ask_clients=False, common_name="maintenance-service.talos.dev", names=(LOOPBACK,)
    )


def answer(reply: Any | Callable[[Any], Any]) -> Handler:
    """A handler that takes one message and gives one back."""

    async def handle(stream: Any) -> None:
        request = await stream.recv_message()
        await stream.send_message(reply(request) if callable(reply) else reply)

    return handle


def answers(*replies: Any) -> Handler:
    """A handler that takes one message and gives several back."""

    async def handle(stream: Any) -> None:
        await stream.recv_message()
        for reply in replies:
            await stream.send_message(reply)

    return handle


class Recording:
    """A handler that keeps the requests it gets, and gives the replies in turn, each to one request."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.requests: list[Any] = []

    async def __call__(self, stream: Any) -> None:
        self.requests.append(await stream.recv_message())
        await stream.send_message(self.replies.pop(0))


async def never(stream: Any) -> None:
    """A handler that takes the message, and no more."""
    await stream.recv_message()
    await for_ever()


def fails(status: Status, message: str = "") -> Handler:
    async def handle(stream: Any) -> None:
        await stream.recv_message()
        raise GRPCError(status, message)

    return handle


def resource(type: str, id: str, yaml: str, **more: Any) -> cosi_pb2.Resource:  # noqa: A002
    return cosi_pb2.Resource(
        metadata=cosi_pb2.Metadata(namespace="ns", type=type, id=id, version="3", phase="running", **more),
        spec=cosi_pb2.Spec(yaml_spec=yaml, proto_spec=b"\x01"),
    )


class State:
    """A node's resources by type: gets one by id, lists them all."""

    def __init__(self, *resources: cosi_pb2.Resource) -> None:
        self.resources = resources
        self.requests: list[Any] = []

    async def get(self, stream: Any) -> None:
        request = await stream.recv_message()
        self.requests.append(request)
        for item in self.resources:
            if (item.metadata.type, item.metadata.id) == (request.type, request.id):
                await stream.send_message(cosi_pb2.GetResponse(resource=item))
                return
        await fails(Status.NOT_FOUND, f"resource {request.type}({request.id}) doesn't exist")(stream)

    async def list(self, stream: Any) -> None:
        request = await stream.recv_message()
        self.requests.append(request)
        for item in self.resources:
            if item.metadata.type == request.type:
                await stream.send_message(cosi_pb2.ListResponse(resource=item))


class _Servicer:
    """One service of the API: what the test handles, and UNIMPLEMENTED for the rest."""

    def __init__(self, module: Any) -> None:
        (self.service,) = module.DESCRIPTOR.services_by_name.values()
        self.handlers: dict[str, Handler] = {}

    def __mapping__(self) -> dict[str, Any]:
        return {
            f"/{self.service.full_name}/{method.name}": const.Handler(
                self._handle(method.name),
                const.Cardinality((method.client_streaming, method.server_streaming)),
                GetMessageClass(method.input_type),
                GetMessageClass(method.output_type),
            )
            for method in self.service.methods
        }

    def _handle(self, name: str) -> Handler:
        async def handle(stream: Any) -> None:
            if name not in self.handlers:
                raise GRPCError(Status.UNIMPLEMENTED, f"unknown method {name}")
            await self.handlers[name](stream)

        return handle


class _Node(Server):
    """Its connections end with it, as with a machine that is switched off."""

    def __init__(self, servicers: list[Any]) -> None:
        super().__init__(servicers)
        self._made: list[H2Protocol] = []

    def _protocol_factory(self) -> H2Protocol:
        self._made.append(super()._protocol_factory())
        return self._made[-1]

    def cut(self) -> None:
        for protocol in self._made:
            if hasattr(protocol, "connection"):
                protocol.connection.close()


@asynccontextmanager
async def serving(
    context: ssl.SSLContext, *, host: str = LOOPBACK, port: int = 0, **handlers: Handler
) -> AsyncIterator[Address]:
    """A node that answers what is given as `SERVICE_Method=handler`, and UNIMPLEMENTED to the rest."""
    servicers = {name: _Servicer(module) for name, module in SERVICES.items()}
    for key, handler in handlers.items():
        service, _, method = key.partition("_")
        assert method in servicers[service].service.methods_by_name, key
        servicers[service].handlers[method] = handler
    server = _Node(list(servicers.values()))
    await server.start(host, port, ssl=context)
    try:
        assert isinstance(server._server, asyncio.Server)
        yield Address(host, server._server.sockets[0].getsockname()[1])
    finally:
        server.close()
        server.cut()
        await server.wait_closed()


@asynccontextmanager
async def listening(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[Address]:
    """Something at an address that does what it wants, with or without TLS."""
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handle(reader, writer)
        except (ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            tasks.discard(task)

    server = await asyncio.start_server(accept, LOOPBACK, 0, ssl=context)
    try:
        yield Address(LOOPBACK, server.sockets[0].getsockname()[1])
    finally:
        for task in tuple(tasks):
            task.cancel()
        server.close()


class Http2Peer:
    """Speaks HTTP/2 by hand, for answers that no gRPC server would give."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.http2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, validate_outbound_headers=False)
        )
        self.http2.initiate_connection()
        self.ended = False

    async def flush(self) -> None:
        self._writer.write(self.http2.data_to_send())
        await self._writer.drain()

    async def request(self) -> int:
        """The id of the stream on which the client has asked something."""
        await self.flush()
        while True:
            for event in await self.events():
                if isinstance(event, h2.events.RequestReceived):
                    return event.stream_id

    async def events(self) -> list[h2.events.Event]:
        data = await self._reader.read(65536)
        if not data:
            raise ConnectionResetError
        events = self.http2.receive_data(data)
        self.ended = self.ended or any(isinstance(event, h2.events.StreamReset) for event in events)
        await self.flush()
        return events

    async def headers(self, stream: int, **more: str) -> None:
        self.http2.send_headers(stream, [(":status", "200"), ("content-type", "application/grpc"), *more.items()])
        await self.flush()

    async def send(self, stream: int, data: bytes) -> int:
        """As much as the client lets us; returns how much that was."""
        sent = 0
        while sent < len(data) and not self.ended:
            window = min(self.http2.local_flow_control_window(stream), self.http2.max_outbound_frame_size)
            if window <= 0:
                await self.events()
                continue
            piece = data[sent : sent + window]
            self.http2.send_data(stream, piece)
            await self.flush()
            sent += len(piece)
        return sent


@contextmanager
def refusing(context: ssl.SSLContext, *others: ssl.SSLContext, then_gone: bool = False) -> Iterator[Address]:
    """A TLS server that says why it refuses a client, which asyncio's do not.

    Each connection gets the next context, and the last one all that follow, unless the server is gone by then.
    """
    listener = socket.create_server((LOOPBACK, 0))
    contexts = [context, *others]

    def accept() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            chosen = contexts.pop(0) if len(contexts) > 1 or then_gone else contexts[0]
            if not contexts:
                listener.close()
            with plain, contextlib.suppress(OSError), chosen.wrap_socket(plain, server_side=True):
                pass

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield Address(LOOPBACK, listener.getsockname()[1])
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=120)


class Counting:
    """Answers with the hostname, and keeps count of the connections and of the calls at work.

    With `wait_for`, none is answered before so many are there at once.
    """

    def __init__(self, name: str = "cp-1", *, wait_for: int = 0) -> None:
        self.name = name
        self.wait_for = wait_for
        self.peers: set[Any] = set()
        self.metadata: list[dict[str, str]] = []
        self.at_work = self.most_at_work = 0

    async def __call__(self, stream: Any) -> None:
        await stream.recv_message()
        self.peers.add(stream.peer.addr())
        self.metadata.append(dict(stream.metadata))
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        while self.most_at_work < self.wait_for:
            await asyncio.sleep(0.01)
        self.at_work -= 1
        await stream.send_message(wire.HostnameResponse(messages=[wire.Hostname(hostname=self.name)]))
