"""HTTP/1.1 by hand, as the API server of Proxmox VE speaks it.

Reason phrases are messages, some answers have neither a body nor a length, every error closes the connection.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qs, unquote

from .errors import Refused

BASE = "/api2/json"
LARGEST_BODY = 512 * 1024
LARGEST_HEAD = 64 * 1024
Parameters = dict[str, Any]  # texts, or lists of texts where a parameter was given several times


@dataclass
class Request:
    method: str
    path: str  # unquoted part by part later: a volume id in a path has a quoted slash
    query: str
    headers: dict[str, str]
    body: bytes = b""
    parameters: Parameters = field(default_factory=dict)
    upload: Any = None

    @property
    def length(self) -> int:
        return int(self.headers.get("content-length", "0") or 0)

    @property
    def is_upload(self) -> bool:
        return self.method == "POST" and self.headers.get("content-type", "").startswith("multipart/form-data")

    @property
    def api_path(self) -> str:
        """Below /api2/json, unquoted."""
        return unquote(self.path.removeprefix(BASE)) or "/"

    @property
    def parts(self) -> list[str]:
        return [unquote(part) for part in self.path.removeprefix(BASE).split("/") if part]


@dataclass
class Answer:
    status: int
    reason: str
    body: bytes | None  # None: not even a length
    content_type: str = "application/json;charset=UTF-8"
    close: bool = False
    unread: bool = False  # the client may still be sending the body of the request

    def head(self) -> bytes:
        date = formatdate(usegmt=True)
        lines = [f"HTTP/1.1 {self.status} {self.reason}", "Cache-Control: max-age=0"]
        lines += [f"Connection: {'close' if self.close else 'Keep-Alive'}", f"Date: {date}", "Pragma: no-cache"]
        lines += ["Server: pve-api-daemon/3.0"]
        if self.body is not None:
            lines += [f"Content-Length: {len(self.body)}", f"Content-Type: {self.content_type}"]
        return "\r\n".join([*lines, f"Expires: {date}", "", ""]).encode()


def answer_with(data: Any, attributes: dict[str, Any] | None = None) -> Answer:
    body = {"data": data} | (attributes or {})
    return Answer(200, "OK", json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())


def answer_refused(refused: Refused, major: int) -> Answer:
    """Servers before version 9 have the message in the reason phrase alone."""
    reason = refused.message.partition("\n")[0]
    if refused.empty:
        return Answer(refused.status, reason, None, close=True)
    if refused.plain:
        return Answer(refused.status, reason, refused.message.encode(), "text/plain", close=True)
    body: dict[str, Any] = {"data": None}
    if major >= 9:
        body["message"] = refused.message + ("" if refused.status == 501 else "\n")
    if refused.errors is not None:
        body["errors"] = refused.errors
    return Answer(refused.status, reason, json.dumps(body, ensure_ascii=False).encode(), close=True)


async def read_head(reader: asyncio.StreamReader) -> Request | None:
    """Nothing when the client has hung up."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
        return None
    first, *rest = head.decode("latin-1").split("\r\n")
    method, target, _ = (*first.split(" "), "", "")[:3]
    headers = {}
    for line in filter(None, rest):
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    path, _, query = target.partition("?")
    return Request(method, path, query, headers)


async def read_body(request: Request, reader: asyncio.StreamReader) -> None:
    """The parameters of query and body. Bodies that are too large or chunked are refused unread."""
    refuse_transfer(request)
    if request.length and request.method in ("GET", "DELETE"):
        raise Refused(501, f"Unexpected content for method '{request.method}'", plain=True)
    if request.length > LARGEST_BODY:
        raise Refused(501, "for data too large", plain=True)
    request.body = await reader.readexactly(request.length) if request.length else b""
    request.parameters = _flat(parse_qs(request.query, keep_blank_values=True))
    if request.headers.get("content-type", "").startswith("application/json"):
        request.parameters |= _from_json(request.body)
    else:
        request.parameters |= _flat(parse_qs(request.body.decode("utf-8", "replace"), keep_blank_values=True))


def refuse_transfer(request: Request) -> None:
    if "transfer-encoding" in request.headers:
        raise Refused(501, "chunked transfer encoding not supported", plain=True)


def _flat(parsed: dict[str, list[str]]) -> Parameters:
    return {name: values[0] if len(values) == 1 else values for name, values in parsed.items()}


def _from_json(body: bytes) -> Parameters:
    try:
        content = json.loads(body or b"{}")
    except ValueError as problem:
        raise Refused(500, f"malformed JSON string: {problem}") from problem
    return {name: _text(value) for name, value in content.items() if value is not None}


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(int(value))
    return [_text(one) for one in value] if isinstance(value, list) else str(value)
