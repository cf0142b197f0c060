"""A chart repository and an OCI registry on loopback: the protocol that talosmith speaks, with faults on demand.

with serving() as server:
    server.offer("oci://ghcr.io/org/charts/web", "1.0.0", standin_chart("web", "1.0.0"))
    server.mirrors          # {"ghcr.io": "oci://127.0.0.1:…/ghcr.io"}, for `charts.mirrors` of an inventory
"""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

CHART_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


class ChartServer(ThreadingHTTPServer):
    """What is on it, what it demands, and what it was asked."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, bytes] = {}
        self.faults: dict[str, list[tuple[int, dict[str, str]]]] = {}  # answers given before the right one
        self.redirects: dict[str, str] = {}
        self.truncated: set[str] = set()
        self.login: tuple[str, str] | None = None
        self.token_login = False
        self.tags_at_once = 1000  # of a page of a list of tags
        self.endless_tags = False
        self.asked: list[tuple[str, str]] = []  # path, authorization
        self.mirrors: dict[str, str] = {}
        self.scheme = "https" if tls else "http"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}"

    def offer(self, source: str, version: str, content: bytes, name: str = "") -> str:
        """Serve a chart as a mirror of where it really is; the digest of its archive.

        `source` is `oci://host/path` or the URL of a repository that has the chart `name`.
        """
        parts = urlsplit(source)
        place = f"{parts.netloc}{parts.path}".rstrip("/")
        if parts.scheme == "oci":
            self.push(place, version.replace("+", "_"), content)
            self.mirrors[parts.netloc] = f"oci://{self.host}/{parts.netloc}"
        else:
            self.publish(place, name, version, content)
            self.mirrors[parts.netloc] = f"{self.url}/{parts.netloc}"
        return sha256(content)

    def push(self, path: str, tag: str, content: bytes, *, media_type: str = CHART_TYPE) -> str:
        """Put a chart into the registry; the digest of its manifest."""
        layer = {"mediaType": media_type, "digest": sha256(content), "size": len(content)}
        manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "layers": [layer]}).encode()
        for name in (tag, sha256(manifest)):
            self.pages[f"/v2/{path}/manifests/{name}"] = manifest
        self.pages[f"/v2/{path}/blobs/{sha256(content)}"] = content
        listed = json.loads(self.pages.get(f"/v2/{path}/tags/list", b'{"tags": []}'))
        listed["tags"] = [*dict.fromkeys([*listed["tags"], tag])]
        self.pages[f"/v2/{path}/tags/list"] = json.dumps(listed).encode()
        return sha256(manifest)

    def publish(self, path: str, name: str, version: str, content: bytes) -> None:
        """Put a chart into the repository at this path."""
        file = f"{name}-{version}.tgz"
        self.pages[f"/{path}/{file}"] = content
        index = json.loads(self.pages.get(f"/{path}/index.yaml", b'{"apiVersion": "v1", "entries": {}}'))
        entry = {"name": name, "version": version, "digest": sha256(content)[7:], "urls": [file]}
        known = [one for one in index["entries"].get(name, []) if one["version"] != version]
        index["entries"][name] = [entry, *known]
        self.pages[f"/{path}/index.yaml"] = json.dumps(index).encode()

    def count(self, part: str) -> int:
        return sum(part in path for path, _ in self.asked)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gives up is no fault of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: ChartServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        path = parts.path
        given = self.headers.get("Authorization", "")
        self.server.asked.append((self.path, given))
        if self.server.faults.get(path):
            status, headers = self.server.faults[path].pop(0)
            self._answer(status, b"", headers)
        elif path == "/token":
            self._token(parse_qs(parts.query), given)
        elif not self._allowed(given):
            self._answer(401, b"", {"WWW-Authenticate": self._challenge(path)})
        elif path in self.server.redirects:
            self._answer(307, b"", {"Location": self.server.redirects[path]})
        elif path not in self.server.pages:
            self._answer(404, b"")
        elif path.endswith("/tags/list"):
            self._tags(path, parse_qs(parts.query))
        else:
            self._answer(200, self.server.pages[path], cut=path in self.server.truncated)

    def _tags(self, path: str, asked: dict[str, list[str]]) -> None:
        """A page of the tags, and where the next one is."""
        tags = json.loads(self.server.pages[path])["tags"]
        start = tags.index(asked["last"][0]) + 1 if "last" in asked else 0
        page = tags[start : start + self.server.tags_at_once]
        more = start + len(page) < len(tags)
        link = {"Link": f'<{path}?last={page[-1]}&n={len(page)}>; rel="next"'} if more else {}
        if self.server.endless_tags:
            link = {"Link": f'<{path}?n=1>; rel="next"'}
        self._answer(200, json.dumps({"tags": page}).encode(), link)

    def _allowed(self, given: str) -> bool:
        if self.server.login is None:
            return True
        return given == ("Bearer the-token" if self.server.token_login else self._basic())

    def _basic(self) -> str:
        return "Basic " + base64.b64encode(":".join(self.server.login or ()).encode()).decode()

    def _challenge(self, path: str) -> str:
        if not self.server.token_login:
            return 'Basic realm="charts"'
        scope = f"repository:{path.removeprefix('/v2/').split('/manifests')[0]}:pull"
        return f'Bearer realm="{self.server.url}/token",service="charts",scope="{scope}"'

    def _token(self, asked: dict[str, list[str]], given: str) -> None:
        right = given == self._basic() and asked.get("service") == ["charts"] and asked["scope"][0].endswith(":pull")
        self._answer(200 if right else 401, json.dumps({"token": "the-token"} if right else {}).encode())

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None, *, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (the name is Python's)
        """The tests read `asked` instead."""


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[ChartServer]:
    server = ChartServer(tls)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
