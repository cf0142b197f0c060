"""The connection to Proxmox VE: only the verified server gets the token that the environment holds."""

from __future__ import annotations

import asyncio
import datetime
import logging
import ssl
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from talosmith.errors import TalosmithError, Temporary, UsageError
from talosmith.model.providers import Proxmox as Section
from talosmith.model.secret import Secret
from talosmith.providers.proxmox import connect
from talosmith.providers.proxmox.client import ProxmoxClient, Token
from talosmith.providers.proxmox.failures import NotTrusted
from talosmith.providers.proxmox.trust import Trust
from tests.loopback import unused_port
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness, proxmox

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pauses")]


# Who hears the token


async def test_the_token_is_in_no_message_and_no_log(
    harness: ProxmoxHarness, client: ProxmoxClient, caplog: pytest.LogCaptureFixture
) -> None:
    secret = client.token.secret.reveal()
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "talosmith.calls")
    shown = [repr(client), str(client.token), repr(client.token)]
    for times, lose in ((3, harness.world.faults.lose_requests), (1, harness.world.faults.lose_answers)):
        lose(times, path="/access/permissions")
        try:
            await client.get("/access/permissions")
        except TalosmithError as problem:
            shown += [problem.hint, *traceback.format_exception(problem)]
    for status, text in ((401, "Authentication failed!"), (500, "some error"), (596, "Connection timed out")):
        harness.world.faults.refuse(status, text)
        with pytest.raises(TalosmithError) as wrong:
            await client.post("/nodes/pve/qemu")
        shown += [wrong.value.hint, *traceback.format_exception(wrong.value)]
    calls = [one.getMessage() for one in caplog.records if one.name == "talosmith.calls"]
    assert any("GET /access/permissions" in line for line in calls), "the log is not looked at"
    assert secret and secret not in "\n".join([*shown, caplog.text])


def another_certificate(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pve.simulated")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "another.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@asynccontextmanager
async def listening(context: ssl.SSLContext | None, port: int = 0) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that only listens: its port, and all that it was told."""
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if part := await reader.read(65536):
            heard.append(part)
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", port, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()


@pytest.mark.parametrize("connected_before", [True, False])
async def test_a_server_with_another_certificate_hears_nothing(tmp_path: Path, connected_before: bool) -> None:
    """Also where it takes the place of the right one while we are connected."""
    with proxmox(tmp_path) as harness:
        client = harness.client()
        if connected_before:
            await client.get("/version")
    async with listening(another_certificate(tmp_path), harness.server.port) as (_, heard):
        with pytest.raises(NotTrusted) as wrong:
            await client.get("/version")
        await client.close()
        assert not heard
    assert wrong.value.fingerprint and wrong.value.fingerprint != client.trust.fingerprint


async def test_proxies_of_the_environment_are_not_used(
    harness: ProxmoxHarness, client: ProxmoxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listening(None) as (port, heard):
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        assert await client.get("/version")
        assert not heard


async def test_a_host_that_cannot_be_reached_is_temporary_and_named() -> None:
    with unused_port() as port:
        for trust in (Trust(), Trust("0" * 64)):
            client = ProxmoxClient(f"https://127.0.0.1:{port}", Token("root@pam!lab", Secret("none")), trust)
            with pytest.raises(Temporary, match=f"127.0.0.1:{port} cannot be reached: connection refused"):
                await client.post("/nodes/pve/qemu")
            await client.close()


# The environment


def test_address_and_token_of_the_environment() -> None:
    environment = {
        "PROXMOX_VE_URL": "https://pve:8006", "PROXMOX_VE_API_TOKEN": "talos@pve!smith=0-1=2",
        "PROXMOX_VE_FINGERPRINT": "AA:BB",
    }  # fmt: skip
    client = connect(Section(node="pve"), None, environment)
    assert (str(client.url), client.token.id, client.token.user) == (
        "https://pve:8006",
        "talos@pve!smith=0-1",
        "talos@pve",
    )
    assert client.trust == Trust("aabb") and client.token.secret.reveal() == "2"
    own_ca = connect(Section(node="pve", ca="ca.pem"), None, environment)
    assert own_ca.trust == Trust("", "ca.pem"), "what the inventory says goes before the environment"


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        ({}, "PROXMOX_VE_URL"),
        ({"PROXMOX_VE_URL": "http://pve:8006"}, "PROXMOX_VE_URL"),
        ({"PROXMOX_VE_URL": "https://pve:8006"}, "PROXMOX_VE_API_TOKEN"),
        ({"PROXMOX_VE_URL": "https://pve:8006", "PROXMOX_VE_API_TOKEN": "talos@pve=secret"}, "PROXMOX_VE_API_TOKEN"),
    ],
)
def test_what_the_environment_lacks_is_named(environment: dict[str, str], names: str) -> None:
    with pytest.raises(UsageError) as wrong:
        connect(Section(node="pve"), None, environment)
    assert names in wrong.value.hint and "secret" not in str(wrong.value)
