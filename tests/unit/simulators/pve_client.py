"""A plain client of the simulated API for its tests: one request, one answer, the reason phrase as it came."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from tests.simulators.proxmox import Proxmox, Server


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    headers: Mapping[str, str]
    body: Any  # None: empty

    @property
    def data(self) -> Any:
        assert self.status == 200, f"{self.status} {self.reason} {self.body}"
        return self.body["data"]

    @property
    def errors(self) -> Any:
        return self.body["errors"]

    @property
    def line(self) -> str:
        return f"{self.status} {self.reason}"


class Client:
    def __init__(self, world: Proxmox, server: Server) -> None:
        self.world = world
        self._port = server.port
        self._context = ssl.create_default_context(cadata=server.ca)
        self._kept = threading.local()

    def ask(
        self,
        method: str,
        path: str,
        who: str = "root",
        /,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **parameters: Any,
    ) -> Answer:
        """Parameters go where the method has them; a name with a dash is written with an underscore twice."""
        sent = dict(headers or {})
        if who in self.world.tokens:
            sent["Authorization"] = "PVEAPIToken={}={}".format(*self.world.tokens[who])
        encoded = urlencode({name.replace("__", "-"): value for name, value in parameters.items()}, doseq=True)
        target = "/api2/json" + path
        if method in ("POST", "PUT") and body is None:
            body = encoded.encode()
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
        elif encoded:
            target += "?" + encoded
        return self._exchange(method, target, body, sent)

    def _exchange(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = self._connection()
        try:
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        kind = response.headers.get("Content-Type", "")
        parsed = json.loads(content) if content and "json" in kind else content.decode() or None
        return Answer(response.status, response.reason, dict(response.headers), parsed)

    def _connection(self) -> http.client.HTTPSConnection:
        if not hasattr(self._kept, "connection"):
            self._kept.connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context)
        connection: http.client.HTTPSConnection = self._kept.connection
        return connection

    def close(self) -> None:
        self._connection().close()

    def get(self, path: str, who: str = "root", /, **parameters: Any) -> Any:
        return self.ask("GET", path, who, **parameters).data

    def post(self, path: str, who: str = "root", /, **parameters: Any) -> Any:
        return self.ask("POST", path, who, **parameters).data

    def put(self, path: str, who: str = "root", /, **parameters: Any) -> Any:
        return self.ask("PUT", path, who, **parameters).data

    def upload(
        self,
        path: str,
        fields: list[tuple[str, str]],
        filename: str,
        content: bytes,
        who: str = "root",
        file_first: bool = False,
    ) -> Answer:
        mark = "boundary-of-parts"
        texts = [
            f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields
        ]
        head = f'--{mark}\r\nContent-Disposition: form-data; name="filename"; filename="{filename}"\r\n'
        file = head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n"
        parts = [text.encode() for text in texts]
        body = b"".join([file, *parts] if file_first else [*parts, file]) + f"--{mark}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={mark}"}
        return self.ask("POST", path, who, body=body, headers=kind)

    def task(self, upid: str, who: str = "root") -> dict[str, Any]:
        """Its status, when it has come to its end."""
        self.world.settle()
        found: dict[str, Any] = self.get(f"/nodes/{upid.split(':')[1]}/tasks/{quote(upid, safe='')}/status", who)
        return found

    def log(self, upid: str) -> list[str]:
        rows = self.get(f"/nodes/{upid.split(':')[1]}/tasks/{quote(upid, safe='')}/log", limit=0)
        return [row["t"] for row in rows]
