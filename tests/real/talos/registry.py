"""A read-only image registry: the few requests that containerd makes to pull an image."""

from __future__ import annotations

import re
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.real.talos.images import MANIFEST, Store

_REQUEST = re.compile(r"/v2/(?P<repository>.+)/(?P<kind>manifests|blobs)/(?P<reference>[^/]+)")


def serve(store: Store, address: str, port: int) -> None:
    """Answer in the background, as long as this process lives."""
    handler = type("Handler", (_Handler,), {"store": store})
    server = ThreadingHTTPServer((address, port), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    store: Store
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        wanted = _REQUEST.fullmatch(path)
        if wanted and wanted["kind"] == "manifests":
            found = self.store.manifest(wanted["repository"], wanted["reference"])
            if found:
                self._send(found[1], MANIFEST, found[0])
                return
        if wanted and wanted["kind"] == "blobs":
            blob = self.store.blob(wanted["reference"])
            if blob:
                self._send(blob, "application/octet-stream", wanted["reference"])
                return
        self._answer(200 if path in ("/v2", "/v2/") else 404, "application/json", 2)
        self._write(b"{}")

    do_HEAD = do_GET  # noqa: N815

    def _send(self, file: Path, kind: str, digest: str) -> None:
        self._answer(200, kind, file.stat().st_size, digest)
        if self.command == "GET":
            with file.open("rb") as data:
                shutil.copyfileobj(data, self.wfile, 1 << 20)

    def _answer(self, code: int, kind: str, size: int, digest: str = "") -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        if digest:
            self.send_header("Docker-Content-Digest", digest)
        self.end_headers()

    def _write(self, data: bytes) -> None:
        if self.command == "GET":
            self.wfile.write(data)
