"""How every call is made: with a deadline, bounded in size, tried again where that is harmless, with our errors."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx2

from talosmith.call_log import logged
from talosmith.desired.validity import SET_CLOCKS
from talosmith.errors import Temporary
from talosmith.kube import errors
from talosmith.kube.answers import by_the_clock, from_answer
from talosmith.kube.credentials import Credentials
from talosmith.kube.errors import KubeError, cleaned
from talosmith.kube.transport import BASE, SERVER, ClusterTransport, NoServer, no_connection
from talosmith.waiting import backoff, retried

MIB = 1024**2
JSON = "application/json"
_SAFE = ("GET", "DELETE")  # asked twice, the same comes of it


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server may take of our time and memory."""

    connect_timeout: float = 4.0
    call_timeout: float = 15.0  # one attempt
    total: float = 60.0  # all attempts and the pauses between them
    attempts: int = 6
    first_pause: float = 0.25
    longest_pause: float = 10.0
    max_answer: int = 64 * MIB


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the HTTP status, the object or text, and the warnings that came with it."""

    server: str
    status: int
    data: Any
    warnings: tuple[str, ...] = ()

    @property
    def item(self) -> dict[str, Any]:
        """Where an object is expected."""
        if not isinstance(self.data, dict):
            raise errors.NotKubernetes(
                self.server, "the answer is not an object", hint="Is this a control plane's address?"
            )
        return self.data


class Caller:
    """One cluster's API, as plain HTTP. The client builds on this one."""

    def __init__(self, transport: ClusterTransport, limits: Limits) -> None:
        self._transport = transport
        self._limits = limits
        self._timeout = httpx2.Timeout(limits.call_timeout, connect=limits.connect_timeout)
        self._http = httpx2.AsyncClient(
            transport=transport, headers={"User-Agent": "talosmith", "Accept": JSON}, trust_env=False
        )
        self._headers = dict(self._http.headers)

    @property
    def server(self) -> str:
        """The control plane that is asked at the moment."""
        return self._transport.server

    async def exchange(self, credentials: Credentials) -> None:
        await self._transport.exchange(credentials)

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        about: str = "",
        timeout: float | None = None,
        repeat: bool | None = None,
        attempts: int | None = None,
    ) -> Answer:
        """A question with one answer.

        What failed for now is asked again, of the next control plane, with growing pauses or those the server asks
        for; `repeat` says whether that is harmless when the first asking may have had its effect.
        """
        again = method in _SAFE if repeat is None else repeat
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {"accept": accept, **({"content-type": content_type} if content is not None else {})}
        request = self._request(method, path, params or {}, self._timeout, content, headers)
        until = time.monotonic() + (timeout or self._limits.total)
        most = attempts or self._limits.attempts

        def pause_after(attempt: int, wrong: Temporary) -> float | None:
            if isinstance(wrong, errors.Protected):
                return None  # seconds do not change that
            assert isinstance(wrong, KubeError)  # noqa: S101 - what `_once` raises
            pause = _pause(self._limits, attempt, wrong)
            if time.monotonic() + pause >= until or not (again or _had_no_effect(wrong)):
                return None
            self._transport.move_on(wrong.server)
            return pause

        return await retried(lambda: self._once(request, about or path, until - time.monotonic()), most, pause_after)

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], about: str, idle: float
    ) -> AsyncIterator[AsyncIterator[str]]:
        """An answer that comes in lines, for as long as the server likes; `idle` seconds of silence end it."""
        wait = httpx2.Timeout(self._limits.call_timeout, connect=self._limits.connect_timeout, read=idle)
        request = self._request("GET", path, params, wait)
        try:
            with logged("kubernetes", self.server, f"GET {path} (stream)"), self._translated(about, idle):
                response = await self._http.send(request, stream=True)
            try:
                if response.status_code >= 400:
                    with self._translated(about, idle):
                        raise _refusal(response, await self._content(response, about), about)
                yield self._lines(response, about, idle)
            finally:
                await response.aclose()
        except KubeError as wrong:
            if isinstance(wrong, Temporary):
                self._transport.move_on(wrong.server)
            raise

    def _request(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        timeout: httpx2.Timeout,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Request:
        """Not by the client's `build_request`, which parses the URL three times."""
        return httpx2.Request(
            method,
            f"{BASE}{path}?{urlencode(params)}" if params else BASE + path,
            headers={**self._headers, **(headers or {})},
            content=content,
            extensions={"timeout": timeout.as_dict()},
        )

    async def _lines(self, response: httpx2.Response, about: str, idle: float) -> AsyncIterator[str]:
        with self._translated(about, idle):
            async for line in response.aiter_lines():
                if line:
                    yield line

    async def _once(self, request: httpx2.Request, about: str, remaining: float) -> Answer:
        seconds = max(0.01, min(self._limits.call_timeout, remaining))
        with (
            logged("kubernetes", self.server, f"{request.method} {request.url.path}"),
            self._translated(about, seconds),
        ):
            async with asyncio.timeout(seconds):
                response = await self._http.send(request, stream=True)
                try:
                    content = await self._content(response, about)
                finally:
                    await response.aclose()
        if response.status_code >= 400:
            raise _refusal(response, content, about)
        is_json = JSON in response.headers.get("Content-Type", "")
        try:
            data = json.loads(content) if is_json else content.decode(errors="replace")
        except ValueError:
            raise errors.NotKubernetes(
                _server(response), "the answer is not JSON", about=about, hint="Is this a control plane's address?"
            ) from None
        return Answer(_server(response), response.status_code, data, _warnings(response))

    async def _content(self, response: httpx2.Response, about: str) -> bytes:
        content = bytearray()
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > self._limits.max_answer:
                raise errors.TooLarge(
                    _server(response), f"the answer has more than {self._limits.max_answer} bytes", about=about
                )
        return bytes(content)

    @contextmanager
    def _translated(self, about: str, seconds: float) -> Iterator[None]:
        """Errors of the libraries beneath, raised inside, come out as ours."""
        server = self.server
        try:
            yield
        except NoServer as wrong:
            raise no_connection(wrong, about) from None
        except (TimeoutError, httpx2.TimeoutException):
            raise errors.TooSlow(
                server,
                f"no answer within {seconds:.3g} s (context deadline exceeded)",
                about=about,
                hint="Whether the server carried out the request is not known: read its state before a retry.",
            ) from None
        except ssl.SSLError as wrong:  # with TLS 1.3 a server may refuse us when we think that all is set up
            reason = cleaned(wrong.reason or str(wrong))
            out_of_time = "CERTIFICATE_EXPIRED" in reason  # what Go sends for one that is not yet valid, too
            raise errors.Refused(
                server,
                f"does not accept our certificate ({reason})",
                about=about,
                hint=SET_CLOCKS
                if out_of_time
                else "Is this kubeconfig, or are these secrets, the ones of this cluster?",
            ) from None
        except (httpx2.TransportError, httpx2.DecodingError) as wrong:
            said = cleaned(str(wrong)) or type(wrong).__name__
            raise errors.Unreachable(
                server,
                f"the connection was lost ({said})",
                about=about,
                hint="The control plane may be restarting. Whether the request was carried out is not known.",
                said=said,
            ) from None


def _had_no_effect(wrong: KubeError) -> bool:
    """The server was not reached, or sent us away before it did anything."""
    return isinstance(wrong, errors.NoConnection) or wrong.code == 429


def _pause(limits: Limits, attempt: int, wrong: KubeError) -> float:
    asked_for = wrong.retry_after if wrong.code == 429 else 0.0
    return asked_for + backoff(attempt, limits.first_pause, limits.longest_pause)


def _refusal(response: httpx2.Response, content: bytes, about: str) -> KubeError:
    headers = response.headers
    found = from_answer(_server(response), about, response.status_code, content, headers.get("Retry-After", ""))
    return by_the_clock(found, headers.get("Date", "")) if isinstance(found, errors.Refused) else found


def _server(response: httpx2.Response) -> str:
    return str(response.extensions.get(SERVER, ""))


def _warnings(response: httpx2.Response) -> tuple[str, ...]:
    """The texts of `Warning: 299 - "…"` headers, by which a server tells of old APIs and odd values."""
    found = []
    for header in response.headers.get_list("Warning"):
        text = header.split(" ", 2)[-1].strip().removeprefix('"').removesuffix('"')
        found.append(cleaned(text.replace('\\"', '"').replace("\\\\", "\\")))
    return tuple(found)
