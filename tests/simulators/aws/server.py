"""The HTTP server in front of the simulated AWS: threads, and connections that are kept open, as boto3 expects.

Werkzeug's own server closes each connection after an answer, which costs more than most calls.
"""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from . import balancing, extras, in_use, launching, records, targets  # the calls register themselves
from .calls import DEFAULT_ACCOUNT, key_of
from .errors import Answer, ConnectionCut
from .proxy import Proxy
from .world import Cloud

assert all((balancing, extras, in_use, launching, records, targets))  # imported for their effect
_REASONS = BaseHTTPRequestHandler.responses


@dataclass(frozen=True)
class Server:
    url: str
    port: int

    def env(self, account: str = "", region: str = "eu-central-1") -> dict[str, str]:
        """What a process needs to reach the simulator as a user of an account, and nothing else of AWS."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": key_of(account or DEFAULT_ACCOUNT),
            "AWS_SECRET_ACCESS_KEY": "simulated",
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/nonexistent",
            "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        }


@contextmanager
def serving(cloud: Cloud, port: int = 0) -> Iterator[Server]:
    proxy = Proxy(cloud)

    class Handler(_Handler):
        app = proxy

    server = _Server(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="aws", daemon=True)
    thread.start()
    over = threading.Event()
    ticking = threading.Thread(target=_tick, args=(cloud, over), name="aws-clock", daemon=True)
    ticking.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield Server(url, server.server_port)
    finally:
        over.set()
        ticking.join()
        server.shutdown()
        server.server_close()
        thread.join()


def _tick(cloud: Cloud, over: threading.Event) -> None:
    while not over.wait(0.05):
        cloud.tick()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # clients keep their connections
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no fault of the server."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    app: ClassVar[Proxy]

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            answer = self.app.answer(self._environ(body), body)
        except ConnectionCut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._send(answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _respond  # noqa: N815

    def _environ(self, body: bytes) -> dict[str, Any]:
        parts = urlsplit(self.path)
        environ: dict[str, Any] = {
            "REQUEST_METHOD": self.command,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote(parts.path, "latin-1"),
            "QUERY_STRING": parts.query,
            "REQUEST_URI": self.path,
            "RAW_URI": self.path,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(self.connection.getsockname()[1]),
            "SERVER_PROTOCOL": self.request_version,
            "REMOTE_ADDR": self.client_address[0],
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in self.headers.items():
            if name.lower() not in ("content-type", "content-length"):
                environ[f"HTTP_{name.upper().replace('-', '_')}"] = value
        return environ

    def _send(self, answer: Answer) -> None:
        """In one piece: a head that is sent on its own waits for the client to acknowledge it."""
        headers = {"Date": formatdate(self.app.cloud.server_time(), usegmt=True), **answer.headers}
        headers["Content-Length"] = str(len(answer.body))
        reason = _REASONS.get(answer.status, ("",))[0]
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        text = f"HTTP/1.1 {answer.status} {reason}\r\n{head}\r\n".encode("latin-1")
        self.wfile.write(text + (b"" if self.command == "HEAD" else answer.body))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Tests have their own record: `Cloud.calls`."""
