"""An admission webhook on loopback that can be up or down, and the configuration that makes an API server call it."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey, KeyKind
from tools.ports import held_port


def _authority() -> CertificateAndKey:
    return pki.new_authority("admission", KeyKind.ECDSA_P256, now=datetime.now(UTC) - timedelta(hours=1))


@dataclass
class AdmissionServer:
    """Allows everything, once it is up. Its port is its own from the beginning."""

    folder: Path
    authority: CertificateAndKey = field(default_factory=_authority)
    held: socket.socket = field(default_factory=held_port)
    asked: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.held.getsockname()[1])

    def configuration(self, name: str, namespace: str) -> dict[str, Any]:
        """For the ConfigMaps of a namespace."""
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [
                {
                    "name": "check.example.org",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "timeoutSeconds": 5,
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "rules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE", "UPDATE"],
                            "resources": ["configmaps"],
                        }
                    ],
                    "clientConfig": {
                        "url": f"https://127.0.0.1:{self.port}/",
                        "caBundle": base64.b64encode(self.authority.certificate.encode()).decode(),
                    },
                }
            ],
        }

    @contextmanager
    def up(self) -> Iterator[None]:
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                asked.append(f"{request['operation']} {request['name']}{' (dry run)' if request['dryRun'] else ''}")
                answer = {"uid": request["uid"], "allowed": True}
                body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *args: Any) -> None:
                """Nothing."""

        class Server(ThreadingHTTPServer):
            allow_reuse_port = True

        with Server(("127.0.0.1", self.port), Handler) as server:
            server.socket = self._context().wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield
            finally:
                server.shutdown()

    def _context(self) -> ssl.SSLContext:
        leaf = pki.new_leaf(
            self.authority,
            [],
            lifetime=timedelta(days=1),
            usages=[pki.SERVER],
            common_name="admission",
            names=["127.0.0.1"],
            now=datetime.now(UTC) - timedelta(hours=1),
        )
        for name, text in (("hook.crt", leaf.certificate), ("hook.key", leaf.key.reveal())):
            (self.folder / name).write_text(text)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "hook.crt", self.folder / "hook.key")
        return context
