"""HTTP/1.1 as an API server speaks it: one request after the other on a connection, answers whole or in pieces.

Everything a client can make us hold is bounded: the size of a request's head and body, and the time for both.
"""

from __future__ import annotations

import asyncio
import re
from asyncio.transports import BaseTransport, Transport
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import cast
from urllib.parse import parse_qsl, unquote

MOST_HEAD = 64 * 1024
MOST_BODY = 3 * 1024 * 1024  # what a real server takes
REQUEST_PATIENCE = 30.0  # seconds until a request must have come whole …
IDLE_PATIENCE = 300.0  # … until the next one must have begun …
READ_PATIENCE = 30.0  # … and in which a client must read what it gets
_HEADER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*?)[ \t]*")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,7})(?:;[^\r\n]*)?")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # names in small letters
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Incoming:
    """A request whose body is still coming."""

    request: Request
    length: int | None  # None: in chunks
    body: bytearray = field(default_factory=bytearray)


class BadRequest(Exception):
    """Not HTTP, or too much of it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


Handler = Callable[[Request, "Exchange"], Answer | Awaitable[None]]


class Exchange:
    """The way back for an answer that takes its time or has no end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.started = False

    def answer(self, answer: Answer) -> None:
        self._connection.send(answer)

    def start(self, content_type: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.started = True
        head = _head(200, content_type, (("Transfer-Encoding", "chunked"), *headers))
        self._connection.write(head)

    def piece(self, data: bytes) -> None:
        if data:
            self._connection.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def read(self) -> None:
        """Wait until the client has read most of what it got; a client that does not is left."""
        await self._connection.drained()

    def end(self) -> None:
        self._connection.write(b"0\r\n\r\n")

    def abort(self) -> None:
        self._connection.abort()


class Connection(asyncio.Protocol):
    """One client. `handler` answers at once, or later as a task of its own."""

    def __init__(
        self, handler: Handler, made: Callable[[Connection], bool], gone: Callable[[Connection], None]
    ) -> None:
        self._handler = handler
        self._made = made
        self._gone = gone
        self._buffer = bytearray()
        self._incoming: _Incoming | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writable: asyncio.Future[None] | None = None
        self._keep = True
        self._closing = False
        self.transport: Transport | None = None

    # The connection

    def connection_made(self, transport: BaseTransport) -> None:
        self.transport = cast(Transport, transport)
        if not self._made(self):
            self.abort()
            return
        self._await(REQUEST_PATIENCE)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._task is not None:
            self._task.cancel()
        if self._writable is not None and not self._writable.done():
            self._writable.cancel()
        self._gone(self)

    def close(self) -> None:
        """After the answer that is being given, or now."""
        self._closing = True
        if self._task is None and self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    @property
    def busy(self) -> bool:
        return self._task is not None

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    async def drained(self) -> None:
        if self._writable is not None:
            try:
                await asyncio.wait_for(asyncio.shield(self._writable), READ_PATIENCE)
            except TimeoutError:
                self.abort()
                raise

    def write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    # Requests

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._task is not None:
            if len(self._buffer) > MOST_HEAD + MOST_BODY:
                self.abort()
            return
        self._go_on()

    def _go_on(self) -> None:
        try:
            while self._task is None and not self._closing:
                request = self._next()
                if request is None:
                    return
                self._handle(request)
        except BadRequest as problem:
            self._keep = False
            self.send(Answer(problem.code, f"{problem}\n".encode(), "text/plain; charset=utf-8"))

    def _next(self) -> Request | None:
        """The next request, once it is whole."""
        if self._incoming is None:
            end = self._buffer.find(b"\r\n\r\n")
            if (end < 0 and len(self._buffer) > MOST_HEAD) or end > MOST_HEAD:
                raise BadRequest(431, "431 Request Header Fields Too Large")
            if end < 0:
                return None
            head = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            self._incoming = self._begin(head)
        incoming = self._incoming
        whole = self._sized(incoming) if incoming.length is not None else self._chunked(incoming)
        if not whole:
            return None
        self._incoming = None
        self._stop_timer()
        found = incoming.request
        return Request(found.method, found.path, found.query, found.headers, bytes(incoming.body))

    def _begin(self, head: bytes) -> _Incoming:
        request, keep = _parsed(head)
        self._keep = keep
        encoding = request.headers.get("transfer-encoding", "")
        if encoding and encoding.lower() != "chunked":
            raise BadRequest(501, "501 Not Implemented: Unsupported transfer encoding")
        stated = request.headers.get("content-length", "0")
        if not stated.isascii() or not stated.isdigit():
            raise BadRequest(400, "400 Bad Request")
        length = None if encoding else int(stated)
        if length is not None and length > MOST_BODY:
            raise BadRequest(413, f"Request entity too large: limit is {MOST_BODY}")
        if request.headers.get("expect", "").lower() == "100-continue" and length != 0:
            self.write(_CONTINUE)
        return _Incoming(request, length)

    def _sized(self, incoming: _Incoming) -> bool:
        length = incoming.length or 0
        if len(self._buffer) < length:
            return False
        incoming.body += self._buffer[:length]
        del self._buffer[:length]
        return True

    def _chunked(self, incoming: _Incoming) -> bool:
        while True:
            end = self._buffer.find(b"\r\n")
            if end < 0:
                if len(self._buffer) > MOST_HEAD:
                    raise BadRequest(400, "400 Bad Request")
                return False
            found = _CHUNK.fullmatch(bytes(self._buffer[:end]))
            if found is None:
                raise BadRequest(400, "400 Bad Request")
            size = int(found[1], 16)
            if len(incoming.body) + size > MOST_BODY:
                raise BadRequest(413, f"Request entity too large: limit is {MOST_BODY}")
            if len(self._buffer) < end + 2 + size + 2:
                return False
            incoming.body += self._buffer[end + 2 : end + 2 + size]
            del self._buffer[: end + 2 + size + 2]
            if size == 0:
                return True

    def _handle(self, request: Request) -> None:
        made = self._handler(request, Exchange(self))
        if isinstance(made, Answer):
            self.send(made)
            return
        self._task = asyncio.ensure_future(self._answered(made))

    async def _answered(self, work: Awaitable[None]) -> None:
        try:
            await work
        except TimeoutError:
            return
        self._task = None
        self._finished()
        self._go_on()

    def send(self, answer: Answer) -> None:
        headers = (("Content-Length", str(len(answer.body))), *answer.headers)
        if not self._keep or self._closing:
            headers = (*headers, ("Connection", "close"))
        self.write(_head(answer.code, answer.content_type, headers) + answer.body)
        if self._task is None:
            self._finished()

    def _finished(self) -> None:
        """Wait for the next request, or end."""
        if (not self._keep or self._closing) and self.transport is not None:
            self.transport.close()
        else:
            self._await(IDLE_PATIENCE if not self._buffer else REQUEST_PATIENCE)

    def _await(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _parsed(head: bytes) -> tuple[Request, bool]:
    lines = head.split(b"\r\n")
    parts = lines[0].split(b" ")
    if len(parts) != 3 or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise BadRequest(400, "400 Bad Request")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        found = _HEADER.fullmatch(line)
        if found is None:
            raise BadRequest(400, "400 Bad Request")
        name, value = found[1].decode().lower(), found[2].decode("latin-1")
        if name in headers and name in ("content-length", "transfer-encoding", "host"):
            raise BadRequest(400, "400 Bad Request")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    if "content-length" in headers and "transfer-encoding" in headers:
        raise BadRequest(400, "400 Bad Request")
    target = parts[1].decode("latin-1")
    path, _, query = target.partition("?")
    pairs = dict(parse_qsl(query, keep_blank_values=True))
    asked = headers.get("connection", "").lower()
    keep = "close" not in asked if parts[2] == b"HTTP/1.1" else "keep-alive" in asked
    return Request(parts[0].decode("latin-1"), unquote(path), pairs, headers), keep


def _head(code: int, content_type: str, headers: tuple[tuple[str, str], ...]) -> bytes:
    lines = [
        f"HTTP/1.1 {code} {_phrase(code)}",
        "Cache-Control: no-cache, private",
        f"Content-Type: {content_type}",
        f"Date: {formatdate(usegmt=True)}",
        *(f"{name}: {_clean(value)}" for name, value in headers),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", errors="replace")


def _clean(value: str) -> str:
    return value.replace("\r", " ").replace("\n", " ")


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "Unknown"
