"""Connections that were made with the same credentials. Retired, they end when the last answer on them is read.

While a cluster's CA is rotated the credentials of a run change, and a drain or a watch of the same run goes on.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

_IDLE = 16


class Connections:
    def __init__(self, context: ssl.SSLContext, proxy: str) -> None:
        self.closed = False
        self._answers = 0  # that are awaited or read
        self._retired = False
        self._transport = httpx2.AsyncHTTPTransport(
            verify=context,
            trust_env=False,
            proxy=proxy or None,
            # Not bounded here: calls are bounded by the caller, and watches hold a connection each.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_IDLE),
        )

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        self._answers += 1
        try:
            response = await self._transport.handle_async_request(request)
        except BaseException:
            await self._answered()
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - what its transport makes
        response.stream = _Answer(response.stream, self._answered)
        return response

    async def retire(self) -> None:
        self._retired = True
        if not self._answers:
            await self.close()

    async def close(self) -> None:
        self.closed = True
        await self._transport.aclose()

    async def _answered(self) -> None:
        self._answers -= 1
        if self._retired and not self._answers:
            await self.close()


class _Answer(httpx2.AsyncByteStream):
    """An answer that reports when it has been read or closed."""

    def __init__(self, stream: httpx2.AsyncByteStream, ended: Callable[[], Awaitable[None]]) -> None:
        self._stream = stream
        self._ended: Callable[[], Awaitable[None]] | None = ended

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece

    async def aclose(self) -> None:
        ended, self._ended = self._ended, None
        try:
            await self._stream.aclose()
        finally:
            if ended is not None:
                await ended()
