"""Gives out the tokens that a registry with token logins asks for, to who knows the password."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from talosmith.desired import pki
from talosmith.desired.pki import KeyKind

SERVICE = ISSUER = "charts"


class TokenServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path, credentials: tuple[str, str], certificate: tuple[Path, Path]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.credentials = credentials
        self.signer = pki.new_authority("tokens", KeyKind.ECDSA_P256, now=datetime.now(UTC) - timedelta(hours=1))
        self.bundle = folder / "tokens.crt"
        self.bundle.write_text(self.signer.certificate)

    @property
    def settings(self) -> dict[str, Any]:
        """Of the registry that asks for the tokens."""
        realm = f"https://127.0.0.1:{self.server_port}/token"
        return {"realm": realm, "service": SERVICE, "issuer": ISSUER, "rootcertbundle": str(self.bundle)}

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def token(self, scopes: list[str]) -> str:
        now = int(time.time())
        access = []
        for scope in " ".join(scopes).split():
            kind, name, actions = scope.split(":", 2)
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        claims = {"iss": ISSUER, "aud": SERVICE, "sub": self.credentials[0], "access": access}
        claims |= {"iat": now, "nbf": now - 60, "exp": now + 300, "jti": str(time.time_ns())}
        certificate = x509.load_pem_x509_certificate(self.signer.certificate.encode())
        chain = [base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()]
        signed = b".".join(_part(one) for one in ({"typ": "JWT", "alg": "ES256", "x5c": chain}, claims))
        key = load_pem_private_key(self.signer.key.reveal().encode(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        pair = decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256())))
        signature = b"".join(one.to_bytes(32, "big") for one in pair)
        return (signed + b"." + _encoded(signature)).decode()


class _Handler(BaseHTTPRequestHandler):
    server: TokenServer

    def do_GET(self) -> None:
        expected = "Basic " + base64.b64encode(":".join(self.server.credentials).encode()).decode()
        allowed = self.headers.get("Authorization") == expected
        scopes = parse_qs(urlsplit(self.path).query).get("scope", [])
        body = json.dumps({"token": self.server.token(scopes)} if allowed else {}).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """Some clients ask by OAuth 2 first, and take the other way if there is none."""
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (the name is Python's)
        """Tests look at what was fetched."""


def _part(content: dict[str, Any]) -> bytes:
    return _encoded(json.dumps(content).encode())


def _encoded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")
