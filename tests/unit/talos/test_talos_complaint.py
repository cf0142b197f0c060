"""A node that misses our certificate says so as soon as TLS is set up. What it has shown until then still counts."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.desired.certificate_file import show_certificate
from talosmith.providers.network.peek import peek
from talosmith.talos import Limits, MaintenanceClient, NotInMaintenance, NotTrusted, TalosClient
from talosmith.talos.grpc import connecting
from tests.lab.lab_worlds import quick_bundle
from tests.loopback import free_network

ENOUGH = 240.0  # seconds: no limit is what is tested here
LIMITS = Limits(connect_timeout=ENOUGH, call_timeout=ENOUGH)


@pytest.fixture
def ours() -> Bundle:
    return quick_bundle()


@pytest.fixture
def strict() -> Iterator[str]:
    """The address of a node of another cluster, which talks only to those who have a certificate of it."""
    authority = pki.new_authority("talos", pki.KeyKind.ED25519)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority.certificate)
    show_certificate(context, authority.certificate, authority.key)
    address = free_network().replace(".0/24", ".11")
    with socket.create_server((address, 50000)) as listener:
        serving = threading.Thread(target=_complain, args=(listener, context))
        serving.start()
        yield address
        listener.shutdown(socket.SHUT_RDWR)
        serving.join()


def _complain(listener: socket.socket, context: ssl.SSLContext) -> None:
    """To each in turn, then until it has hung up: asyncio's own servers would say nothing."""
    while True:
        try:
            plain, _ = listener.accept()
        except OSError:
            return
        with context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False) as secured:
            with suppress(OSError):
                secured.do_handshake()
            with suppress(OSError):
                while socket.socket.recv(secured, 4096):  # the bytes as they come
                    pass


@pytest.fixture(autouse=True)
def complaints_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever connects goes on only after the node has complained, as on a machine that is busy."""
    connect = asyncio.BaseEventLoop.create_connection

    async def slowly(loop: asyncio.BaseEventLoop, *arguments: Any, **options: Any) -> Any:
        transport, protocol = await connect(loop, *arguments, **options)
        while not transport.is_closing():
            await asyncio.sleep(0)
        return transport, protocol

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", slowly)


async def test_a_look_knows_it_by_its_certificate(strict: str, ours: Bundle) -> None:
    assert (await peek(strict, seconds=ENOUGH)).who == "another"
    assert (await peek(strict, authority=ours.os.certificate, seconds=ENOUGH)).who == "another"


async def test_it_is_known_to_have_a_config(strict: str) -> None:
    async with MaintenanceClient(limits=LIMITS) as client:
        with pytest.raises(NotInMaintenance, match="requires a client certificate"):
            await client.node(strict).version()


async def test_it_is_known_to_be_of_another_cluster(
    strict: str, ours: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_LOOK", ENOUGH)
    async with TalosClient.from_bundle(ours, limits=LIMITS) as client:
        with pytest.raises(NotTrusted, match="not signed by this cluster's CA, but by"):
            await client.node(strict).version()
