"""A server over TLS that answers as a test tells it to, for what a real one cannot be brought to do at will."""

from __future__ import annotations

import asyncio
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey
from talosmith.kube import Limits

TOKEN = "canary-token-that-nobody-may-see"
QUICK = Limits(  # to try again, and patient while something happens
    connect_timeout=120.0, call_timeout=240.0, total=3600.0, first_pause=0.02, longest_pause=0.1, attempts=4
)
CORE = {
    "kind": "APIResourceList",
    "groupVersion": "v1",
    "resources": [
        {"name": "configmaps", "kind": "ConfigMap", "namespaced": True},
        {"name": "nodes", "kind": "Node", "namespaced": False},
        {"name": "pods", "kind": "Pod", "namespaced": True},
    ],
}


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class Reply:
    """`lines` are sent as they are given, and then the connection is closed; `hang` answers nothing."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    lines: tuple[Any, ...] | None = None
    hang: bool = False
    cut: bool = False


def status(code: int, reason: str, message: str = "", **details: Any) -> Reply:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    return Reply(code, {**body, "details": details} if details else body)


Answering = Callable[[Asked], Reply]


@dataclass
class Server:
    address: str
    asked: list[Asked]

    def count(self, method: str) -> int:
        return sum(one.method == method for one in self.asked)


@asynccontextmanager
async def serve(
    authority: CertificateAndKey, answer: Answering, now: datetime | None = None
) -> AsyncIterator[Server]:
    asked: list[Asked] = []
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while await _one(reader, writer, asked, answer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=_context(authority, now))
    port = server.sockets[0].getsockname()[1]
    try:
        yield Server(f"127.0.0.1:{port}", asked)
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()


async def _one(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: list[Asked], answer: Answering
) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    one = Asked(method, parts.path, dict(parse_qsl(parts.query)), headers, body)
    if parts.path == "/api/v1":
        await _send(writer, Reply(200, CORE))
        return True
    asked.append(one)
    reply = answer(one)
    if reply.cut:
        return False
    if reply.hang:
        await asyncio.Event().wait()
    if reply.lines is not None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        for line in reply.lines:
            writer.write((line if isinstance(line, str) else json.dumps(line) + "\n").encode())
        await writer.drain()
        return False
    await _send(writer, reply)
    return True


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **reply.headers}
    head = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}\r\n".encode() + content)
    await writer.drain()


def _context(authority: CertificateAndKey, now: datetime | None) -> ssl.SSLContext:
    pair = pki.new_leaf(
        authority,
        [],
        lifetime=timedelta(hours=1),
        usages=[pki.SERVER],
        common_name="x",
        names=["kubernetes"],
        now=now,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "both.pem")
        path.write_text(pair.certificate + pair.key.reveal())
        context.load_cert_chain(path)
    return context
