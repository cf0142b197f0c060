"""The API of Proxmox VE: calls, answers and uploads, and nothing about what they are for.

Messages are in the reason phrase of HTTP/1.1, on servers before 9 only there. A call that changes something is sent
once: when the answer is lost, the caller looks what was done. Reading is tried again.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import httpx2

from talosmith.call_log import logged
from talosmith.errors import Temporary
from talosmith.model.secret import Secret
from talosmith.probe import certificate_problem
from talosmith.providers.progress import report_progress
from talosmith.providers.proxmox.failures import Interrupted, Unanswered, failure
from talosmith.providers.proxmox.trust import Trust, not_trusted, unreachable
from talosmith.waiting import retried

_BASE = "/api2/json"
_CONNECT, _READ, _UPLOAD = 5.0, 60.0, 900.0  # seconds
_TRIES, _BETWEEN = 3, 0.3  # of reading, and seconds in between
_AT_ONCE = 8
_MIB = 1024 * 1024
Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Token:
    id: str  # user@realm!name
    secret: Secret

    @property
    def user(self) -> str:
        return self.id.partition("!")[0]


def path(*parts: str | int) -> str:
    """`/nodes/pve/qemu/100`; each part is escaped: a UPID and a volume have characters of their own."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


class ProxmoxClient:
    def __init__(self, url: str, token: Token, trust: Trust) -> None:
        self.url = httpx2.URL(url)
        self.token = token
        self.trust = trust
        self.watches: dict[str, Any] = {}  # of tasks, by Proxmox node
        self.followed: set[str] = set()  # UPIDs of tasks that were begun here
        self._client: httpx2.AsyncClient | None = None
        self._connecting = asyncio.Lock()

    async def get(self, where: str, **params: Value) -> Any:
        """`data` of the answer. Nothing changes by it, so a call that fails on its way is repeated."""
        return await retried(
            lambda: self._call("GET", where, params),
            _TRIES,
            lambda attempt, wrong: _BETWEEN * attempt if isinstance(wrong, Interrupted | Unanswered) else None,
        )

    async def post(self, where: str, **params: Value) -> Any:
        return await self._call("POST", where, params)

    async def put(self, where: str, **params: Value) -> Any:
        return await self._call("PUT", where, params)

    async def delete(self, where: str, **params: Value) -> Any:
        return await self._call("DELETE", where, params)

    async def upload(self, node: str, storage: str, content: str, name: str, file: Path | bytes, sha256: str) -> str:
        """The UPID of the task that moves it to its place. Fields come before the file, as the server wants them."""
        where = path("nodes", node, "storage", storage, "upload")
        fields = {"content": content, "checksum-algorithm": "sha256", "checksum": sha256}
        opened = file.open("rb") if isinstance(file, Path) else None
        try:
            source: Any = file if opened is None else _Counted(opened, name)
            files = {"filename": (name, source, "application/octet-stream")}
            upid = await self._call("POST", where, {}, data=fields, files=files, timeout=_UPLOAD)
        finally:
            if opened is not None:
                opened.close()
        return str(upid)

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _connected(self) -> httpx2.AsyncClient:
        async with self._connecting:
            if self._client is None:
                self._client = httpx2.AsyncClient(
                    base_url=self.url,
                    verify=await self.trust.context(self.url),
                    timeout=httpx2.Timeout(_READ, connect=_CONNECT),
                    limits=httpx2.Limits(max_connections=_AT_ONCE, max_keepalive_connections=_AT_ONCE),
                    trust_env=False,  # no proxy and no netrc of the environment gets to see the token
                )
            return self._client

    async def _call(
        self, method: str, where: str, params: Mapping[str, Value], *, timeout: float = _READ, **form: Any
    ) -> Any:
        client = await self._connected()
        values = {name: written(value) for name, value in params.items()}
        sent: dict[str, Any] = form or ({"params": values} if method in ("GET", "DELETE") else {"data": values})
        headers = {"Authorization": f"PVEAPIToken={self.token.id}={self.token.secret.reveal()}"}
        what = f"{method} {where}"
        with logged("proxmox", self.url.netloc.decode(), what):
            try:
                answer = await client.request(
                    method,
                    _BASE + where,
                    headers=headers,
                    timeout=httpx2.Timeout(timeout, connect=_CONNECT),
                    **{name: one for name, one in sent.items() if one},
                )
            except httpx2.HTTPError as problem:
                raise await self._broken(what, problem) from None
        if answer.status_code != 200:
            raise failure(what, _message(answer), answer.status_code)
        try:
            return answer.json().get("data")
        except (ValueError, AttributeError):
            raise Interrupted(
                f"{what}: the answer is not one of the Proxmox API", hint="is there another server at `proxmox.url`?"
            ) from None

    async def _broken(self, what: str, problem: httpx2.HTTPError) -> Temporary | Exception:
        if untrusted := certificate_problem(problem):
            return await not_trusted(self.url, untrusted.verify_message or str(untrusted), self.trust.fingerprint)
        if isinstance(problem, httpx2.ConnectError | httpx2.ConnectTimeout):
            return unreachable(self.url, problem)
        reason = str(problem) or type(problem).__name__
        return Interrupted(
            f"{what}: the connection to Proxmox VE broke ({reason})",
            hint="running the same command again finds out what was done, and goes on from there",
        )


class _Counted:
    """A file that reports how much of it was sent."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name, self._reported = file, name, 0
        self._size = os.fstat(file.fileno()).st_size

    def read(self, size: int = -1) -> bytes:
        part = self._file.read(size)
        done = self._file.tell()
        if done - self._reported >= 64 * _MIB:
            self._reported = done
            report_progress(f"uploading {self._name}: {done // _MIB} of {self._size // _MIB} MiB")
        return part

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def fileno(self) -> int:
        return self._file.fileno()

    def __iter__(self) -> Any:
        return iter(lambda: self.read(_MIB), b"")


def written(value: Value) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _message(answer: httpx2.Response) -> str:
    """Of the reason phrase and, for parameters, of the body: which of them is wrong."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    errors = body.get("errors") if isinstance(body, dict) else None
    reason = answer.reason_phrase or (str(body.get("message") or "") if isinstance(body, dict) else "")
    if isinstance(errors, dict) and errors:
        details = "; ".join(f"{name}: {' '.join(str(text).split())}" for name, text in sorted(errors.items()))
        return f"{reason.rstrip('.')}: {details}"
    return " ".join(reason.split()) or json.dumps(body)
