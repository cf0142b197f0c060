"""The preflight of the Proxmox VE API: whether it answers, by which certificate, and whether it accepts the token."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from talosmith.providers.proxmox.trust import Trust
from tests.loopback import unused_port
from tests.simulators.proxmox import Proxmox, Server
from tests.simulators.proxmox.certificate import certificate
from tests.unit.providers.proxmox.proxmox_findings import look, the_error
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness, proxmox

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


@contextmanager
def web_server(status: int, body: bytes, *, tls: bool) -> Iterator[Server]:
    """Something else at the port of Proxmox VE."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as serving:
        if tls:
            serving.socket = certificate().context.wrap_socket(serving.socket, server_side=True)
        threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
        made = certificate()
        yield Server(f"https://127.0.0.1:{serving.server_port}", made.fingerprint, made.pem, serving.server_port)
        serving.shutdown()


@pytest.mark.parametrize("pinned", [True, False])
async def test_an_api_that_cannot_be_reached(tmp_path: Path, pinned: bool) -> None:
    with unused_port() as port:
        server = Server(f"https://127.0.0.1:{port}", certificate().fingerprint, "", port)
        harness = ProxmoxHarness(Proxmox(), server, tmp_path, trust=None if pinned else Trust())
        found = await the_error(harness, "Proxmox VE API")
    assert "connection refused" in found.cause and found.evidence == f"127.0.0.1:{port}"
    assert "proxmox.url" in found.fix and "8006" in found.fix


@pytest.mark.parametrize(
    ("status", "body", "tls"),
    [(200, b"<html>It works!</html>", True), (404, b"not found", True), (200, b"It works!", False)],
)
async def test_something_that_is_not_proxmox_at_the_port(tmp_path: Path, status: int, body: bytes, tls: bool) -> None:
    with web_server(status, body, tls=tls) as server:
        found = await the_error(ProxmoxHarness(Proxmox(), server, tmp_path), "Proxmox VE API")
    assert found.evidence == f"127.0.0.1:{server.port}"
    assert "proxmox.url" in found.fix, "the address is wrong, not the host"
    assert "task log" not in found.fix


@pytest.mark.parametrize("pinned", [True, False])
async def test_a_port_without_tls(tmp_path: Path, pinned: bool) -> None:
    with web_server(200, b"It works!", tls=False) as server:
        harness = ProxmoxHarness(Proxmox(), server, tmp_path, trust=None if pinned else Trust())
        found = await the_error(harness, "Proxmox VE API")
    assert "TLS" in found.cause and "no answer" not in found.cause and "proxmox.url" in found.fix


async def test_a_certificate_that_nobody_vouches_for_is_shown_to_be_pinned(tmp_path: Path) -> None:
    with proxmox(tmp_path, trust=Trust()) as harness:
        found = await the_error(harness, "certificate")
        assert not harness.calls(), "the token went to a server that is not trusted"
    assert "self" in found.cause and "signed" in found.cause, found.cause
    assert harness.server.fingerprint in found.evidence
    assert f"`proxmox.fingerprint: {harness.server.fingerprint}`" in found.fix
    assert "pvenode cert info" in found.fix, "a fingerprint is compared before it is pinned"


async def test_another_certificate_than_the_pinned_one(tmp_path: Path) -> None:
    with proxmox(tmp_path, trust=Trust("0" * 64)) as harness:
        found = await the_error(harness, "certificate")
        assert not harness.calls()
    assert "not the pinned one" in found.cause and harness.server.fingerprint in found.evidence
    assert harness.server.fingerprint in found.fix


async def test_a_ca_file_vouches_for_the_server(tmp_path: Path) -> None:
    ca = tmp_path / "pve-root-ca.pem"
    ca.write_text(certificate().pem)
    with proxmox(tmp_path, trust=Trust(ca=str(ca))) as harness:
        assert {one.level for one in await look(harness)} == {"ok"}


@pytest.mark.parametrize(("content", "wrong"), [(None, "does not exist"), ("not a certificate", "cannot be used")])
async def test_a_ca_file_that_is_of_no_use(tmp_path: Path, content: str | None, wrong: str) -> None:
    ca = tmp_path / "ca.pem"
    if content:
        ca.write_text(content)
    with proxmox(tmp_path, trust=Trust(ca=str(ca))) as harness:
        found = await the_error(harness, "certificate")
        assert not harness.calls()
    assert str(ca) in found.cause and wrong in found.cause and "proxmox.ca" in found.cause


async def test_a_version_that_is_too_old(tmp_path: Path) -> None:
    with proxmox(tmp_path, Proxmox(version="7.4-3")) as harness:
        found = await the_error(harness, "Proxmox VE API")
    assert "7.4-3" in found.cause and "Proxmox VE 8" in found.fix


async def test_a_host_whose_api_daemon_is_down(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.faults.pvedaemon_down = True
        found = await the_error(harness, "Proxmox VE")
    assert "Connection refused" in found.cause and "pvedaemon" in found.fix and found.transient


async def test_a_host_whose_cluster_filesystem_is_down(tmp_path: Path) -> None:
    """Each answer takes three seconds then: it is waited for once."""
    with proxmox(tmp_path, Proxmox(real_delays=True)) as harness:
        harness.world.faults.pmxcfs_down = True
        found = await the_error(harness, "Proxmox VE API")
    assert "access control list" in found.cause and "pve-cluster" in found.fix


@pytest.mark.parametrize("token", ["wrong", "unknown", "exp"])
async def test_a_token_that_is_not_accepted(tmp_path: Path, token: str) -> None:
    """Proxmox VE lets a refused token wait for three seconds, and does not say what is wrong with it."""
    with proxmox(tmp_path, Proxmox(real_delays=token == "wrong"), token=token) as harness:
        found = await the_error(harness, "API token")
        name, secret = harness.world.tokens[token]
        assert len(harness.world.calls) == 1, "each question costs three seconds"
    assert "Authentication failed!" in found.cause and name in found.evidence
    assert f"pveum user token list {name.partition('!')[0]}" in found.fix
    assert secret not in repr(found)
