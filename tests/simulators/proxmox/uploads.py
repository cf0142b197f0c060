"""Uploads: multipart bodies, read by the rules of the API server of Proxmox VE, straight into memory or a file.

Only fields before the file count; the part of the file must be named `filename`, with Content-Disposition as the
first header.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from .errors import Refused
from .http import Request, refuse_transfer

_CHUNK = 256 * 1024
_IN_MEMORY = 4 * 1024 * 1024
_FIELD = re.compile(rb'Content-Disposition: form-data; name="([^"]*)"(?:; filename="([^"]*)")?', re.IGNORECASE)


@dataclass
class Upload:
    fields: dict[str, str] = field(default_factory=dict)
    filename: str | None = None
    temporary: str = ""  # the name that messages give
    size: int = 0
    data: bytes | None = None
    path: Path | None = None

    def checksum(self, algorithm: str) -> str:
        digest = hashlib.new(algorithm)
        if self.path is None:
            digest.update(self.data or b"")
        else:
            with self.path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        return digest.hexdigest()

    def head(self, length: int = 512) -> bytes:
        if self.path is None:
            return (self.data or b"")[:length]
        with self.path.open("rb") as file:
            return file.read(length)


class _Parts:
    """The rest of the body, with a buffer of bytes read ahead."""

    def __init__(self, reader: asyncio.StreamReader, length: int, boundary: bytes) -> None:
        self._reader = reader
        self._left = length
        self.boundary = boundary
        self.buffer = b""

    async def more(self) -> bool:
        if not self._left:
            return False
        chunk = await self._reader.read(min(_CHUNK, self._left))
        self._left -= len(chunk)
        self.buffer += chunk
        return bool(chunk)

    async def until(self, mark: bytes) -> bytes | None:
        while (at := self.buffer.find(mark)) < 0:
            if not await self.more():
                return None
        found, self.buffer = self.buffer[:at], self.buffer[at + len(mark) :]
        return found

    async def copy(self, file: BinaryIO) -> int:
        """Up to the next boundary."""
        mark = b"\r\n--" + self.boundary
        size = 0
        while (at := self.buffer.find(mark)) < 0:
            keep = len(mark) - 1
            safe = max(0, len(self.buffer) - keep)
            size += file.write(self.buffer[:safe])
            self.buffer = self.buffer[safe:]
            if not await self.more():
                return size + file.write(self.buffer)
        size += file.write(self.buffer[:at])
        self.buffer = self.buffer[at + len(mark) :]
        return size

    async def drain(self) -> None:
        self.buffer = b""
        while await self.more():
            self.buffer = b""


async def read_upload(request: Request, reader: asyncio.StreamReader, folder: Path) -> None:
    refuse_transfer(request)
    boundary = re.search(r'boundary="?([^";]+)', request.headers["content-type"])
    if not boundary or "content-length" not in request.headers:
        raise Refused(
            501, "upload without 'Content-Length'" if boundary else "no boundary in multipart/form-data", plain=True
        )
    parts = _Parts(reader, request.length, boundary[1].encode())
    upload = Upload(temporary=f"/var/tmp/pveupload-{secrets.token_hex(16)}")  # noqa: S108
    await parts.until(b"--" + parts.boundary)
    while upload.filename is None and (head := await parts.until(b"\r\n\r\n")) is not None:
        match = _FIELD.match(head.lstrip(b"\r\n"))
        if match and match[1] == b"filename" and match[2] is not None:
            upload.filename = match[2].decode("utf-8", "replace")
            await _keep(upload, parts, request.length, folder)
            continue
        content = await parts.until(b"\r\n--" + parts.boundary)
        if match and content is not None and match[2] is None:
            upload.fields[match[1].decode()] = content.decode("utf-8", "replace")
    await parts.drain()
    request.upload = upload


async def _keep(upload: Upload, parts: _Parts, length: int, folder: Path) -> None:
    path = folder / Path(upload.temporary).name
    with path.open("wb") as file:
        upload.size = await parts.copy(file)
    if upload.size <= _IN_MEMORY:
        upload.data = path.read_bytes()
        path.unlink()
    else:
        upload.path = path
