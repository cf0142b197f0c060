"""The lab in the place of pods: who is answered, who is refused, and what is said."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta

import pytest

from talosmith.desired import pki
from talosmith.desired.certificate_file import show_certificate
from talosmith_lab.server.real_kubernetes.pod_network import PodNetwork

ADDRESS, NAME = "10.96.7.1", "hook.web.svc"
HOST = "127.0.0.1"
REVIEW = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u-1", "object": {}}}
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Caller:
    """As the API server calls: by CONNECT with its own certificate, then TLS with the Service's name."""

    def __init__(self, port: int, callers: pki.CertificateAndKey, pods: str) -> None:
        self.port = port
        self.pods = pods
        self.context = ssl.create_default_context(cadata=pods)
        client = pki.new_leaf(callers, [], lifetime=timedelta(hours=1), common_name="front-proxy-client")
        show_certificate(self.context, client.certificate, client.key)

    async def connect(self, address: str) -> tuple[str, Streams]:
        reader, writer = await asyncio.open_connection(HOST, self.port, ssl=self.context)
        writer.write(f"CONNECT {address}:443 HTTP/1.1\r\nHost: {address}:443\r\n\r\n".encode())
        status = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()[0]
        return status, (reader, writer)

    async def secured(self) -> Streams:
        status, (reader, writer) = await self.connect(ADDRESS)
        assert status == "HTTP/1.1 200 Connection established"
        await writer.start_tls(ssl.create_default_context(cadata=self.pods), server_hostname=NAME)
        return reader, writer

    async def ask(self, streams: Streams, method: str, path: str, body: object = None) -> tuple[int, str]:
        reader, writer = streams
        content = json.dumps(body).encode() if body is not None else b""
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(content)}\r\n\r\n".encode())
        writer.write(content)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line.split()[1]) for line in head.splitlines() if line.startswith("Content-Length"))
        return int(head.split()[1]), (await reader.readexactly(length)).decode()


@pytest.fixture(scope="module")
def authorities() -> tuple[pki.CertificateAndKey, pki.CertificateAndKey]:
    """Of pods, and of who may call them."""
    return pki.new_authority("pods", pki.KeyKind.ECDSA_P256), pki.new_authority("callers", pki.KeyKind.ECDSA_P256)


@pytest.fixture
async def network(authorities: tuple[pki.CertificateAndKey, pki.CertificateAndKey]) -> AsyncIterator[PodNetwork]:
    made = PodNetwork(authorities[0])
    yield made
    made.stop()


@pytest.fixture
async def caller(
    network: PodNetwork, authorities: tuple[pki.CertificateAndKey, pki.CertificateAndKey]
) -> AsyncIterator[Caller]:
    port = await network.start(HOST, authorities[1].certificate)
    network.ready({ADDRESS: NAME})
    yield Caller(port, authorities[1], authorities[0].certificate)


async def test_a_webhook_allows_what_it_is_asked_about(caller: Caller) -> None:
    code, text = await caller.ask(await caller.secured(), "POST", "/validate?timeout=10s", REVIEW)
    answer = json.loads(text)
    assert (code, answer["kind"], answer["apiVersion"]) == (200, "AdmissionReview", "admission.k8s.io/v1")
    assert answer["response"] == {"uid": "u-1", "allowed": True}


async def test_another_api_has_no_resources(caller: Caller) -> None:
    streams = await caller.secured()
    code, text = await caller.ask(streams, "GET", "/apis/metrics.k8s.io/v1beta1")
    listed = json.loads(text)
    assert (code, listed["groupVersion"], listed["resources"]) == (200, "metrics.k8s.io/v1beta1", [])
    assert (await caller.ask(streams, "GET", "/apis"))[0] == 404
    assert (await caller.ask(streams, "POST", "/validate", {"not": "a review"}))[0] == 400


async def test_the_certificate_is_that_of_the_service(caller: Caller) -> None:
    _, writer = await caller.secured()
    assert writer.get_extra_info("ssl_object").getpeercert()["subjectAltName"] == (("DNS", NAME),)


async def test_an_address_without_a_ready_pod_is_refused(caller: Caller, network: PodNetwork) -> None:
    assert (await caller.connect("10.96.7.2"))[0] == "HTTP/1.1 503 Service Unavailable"
    network.ready({})
    assert (await caller.connect(ADDRESS))[0] == "HTTP/1.1 503 Service Unavailable"


async def test_connections_break_with_the_pods(caller: Caller, network: PodNetwork) -> None:
    streams = await caller.secured()
    await caller.ask(streams, "POST", "/validate", REVIEW)
    network.ready({"10.96.7.2": NAME})
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await caller.ask(streams, "POST", "/validate", REVIEW)


async def test_callers_without_a_certificate_are_refused(caller: Caller) -> None:
    stranger = pki.new_authority("strangers", pki.KeyKind.ECDSA_P256)
    other = Caller(caller.port, stranger, caller.pods)
    with pytest.raises((ssl.SSLError, asyncio.IncompleteReadError, ConnectionError)):
        await other.connect(ADDRESS)


async def test_what_is_not_a_connect_is_refused(caller: Caller) -> None:
    reader, writer = await asyncio.open_connection(HOST, caller.port, ssl=caller.context)
    writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 503 ")
    with suppress(ConnectionError):
        assert await reader.read() == b""
