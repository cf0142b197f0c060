"""Whoever steps in between with a certificate of his own learns nothing: not even what was to be fetched."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.errors import TalosmithError
from talosmith.helm import Client
from talosmith.providers.images import Source, obtain

CONTENT = b"boots".ljust(4096, b"\1")


@contextmanager
def serving(authority: CertificateAndKey, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Its address, and what it was asked for by whoever let it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    leaf = pki.new_leaf(authority, [], lifetime=timedelta(hours=1), usages=[pki.SERVER], names=["127.0.0.1"])
    file = folder / "server.pem"
    file.write_text(leaf.certificate + leaf.key.reveal())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}/disk.raw", asked
    finally:
        server.shutdown()
        thread.join(120)
        server.server_close()


def image(url: str, folder: Path) -> bytes:
    return Path(obtain(Source(url), folder).path).read_bytes()


def chart(url: str, folder: Path) -> bytes:
    return Client(timeout=120).get(url, limit=1 << 20).body


@pytest.mark.parametrize("fetch", [image, chart])
def test_who_is_not_vouched_for_is_asked_for_nothing(
    fetch: Callable[[str, Path], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    known = pki.new_authority("known", KeyKind.ECDSA_P256)
    (tmp_path / "known.pem").write_text(known.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "known.pem"))
    cache = tmp_path / "cache"
    with serving(pki.new_authority("known", KeyKind.ECDSA_P256), tmp_path) as (url, asked):
        with pytest.raises(TalosmithError, match=r"(?i)certificate"):
            fetch(url, cache)
        assert asked == []
    assert not [path for path in cache.glob("*") if path.suffix != ".lock"]
    with serving(known, tmp_path) as (url, asked):
        assert fetch(url, cache) == CONTENT
        assert asked == ["/disk.raw"]
