"""A plain client of the Talos API, to look at the lab from outside."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from grpclib.client import Channel

from talosmith.desired.pki import CertificateAndKey, new_leaf
from talosmith.desired.talosconfig import new_client
from talosmith.talos.proto import services

DEADLINE = 120.0  # seconds: for what comes at once, but not on a busy machine


def insecure() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


def secure(authority: CertificateAndKey, pair: CertificateAndKey | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    context.load_verify_locations(cadata=authority.certificate)
    if pair is not None:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(pair.certificate + pair.key.reveal().replace("ED25519 PRIVATE", "PRIVATE"))
            file.flush()
            context.load_cert_chain(file.name)
    return context


def with_roles(
    authority: CertificateAndKey, *roles: str, lifetime: timedelta = timedelta(hours=1), now: datetime | None = None
) -> ssl.SSLContext:
    """Valid since a minute ago: OpenSSL reads a clock that is milliseconds behind."""
    start = now or datetime.now(UTC) - timedelta(minutes=1)
    return secure(authority, new_client(authority, roles or ("os:admin",), lifetime=lifetime, now=start))


def with_usages(authority: CertificateAndKey, usages: Sequence[Any]) -> ssl.SSLContext:
    return secure(authority, new_leaf(authority, ["os:admin"], lifetime=timedelta(hours=1), usages=usages))


class Client:
    """`async with Client(address, context) as node: await node.machine.Version(Empty(), timeout=…)`"""

    def __init__(self, host: str, context: ssl.SSLContext, port: int = 50000) -> None:
        self._channel = Channel(host, port, ssl=context)

    async def __aenter__(self) -> Self:
        self.machine = services.MachineServiceStub(self._channel)
        self.state = services.StateStub(self._channel)
        self.images = services.ImageServiceStub(self._channel)
        self.lifecycle = services.LifecycleServiceStub(self._channel)
        self.storage = services.StorageServiceStub(self._channel)
        self.time = services.TimeServiceStub(self._channel)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()
