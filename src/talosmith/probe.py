"""Reaching a machine, for those who drive nodes and for those who only look who is there: what both must not miss.

A node that asks for a client certificate complains as soon as TLS is set up, and from then on TLS no longer tells the
node's own. And a limit that runs out because we are busy says nothing about the machine.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_TURN = 0.25  # seconds


def certificate_of(transport: asyncio.BaseTransport) -> bytes:
    """What the other side has shown; to be asked while the connection is made. Empty without TLS."""
    secured: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    return (secured.getpeercert(binary_form=True) or b"") if secured is not None else b""


class Shown(asyncio.Protocol):
    """For who wants to see the certificate and nothing else."""

    certificate = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.certificate = certificate_of(transport)


async def certificate_at(host: str, port: int, context: ssl.SSLContext, seconds: float, name: str = "") -> bytes:
    """What is shown at an address, for explaining a failure; empty if there is none. `context` must not verify it."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds):
            transport, shown = await loop.create_connection(
                Shown, host, port, ssl=context, server_hostname=name or host
            )
    except (OSError, TimeoutError):
        return b""
    transport.abort()
    return shown.certificate


async def in_turns(connecting: Coroutine[Any, Any, T], seconds: float) -> T:
    """What it returns; `TimeoutError` after so many seconds, counted in turns of our own."""
    task = asyncio.ensure_future(connecting)
    try:
        for _ in range(max(1, round(seconds / _TURN))):
            await asyncio.wait([task], timeout=_TURN)
            if task.done():
                return await task
    finally:
        task.cancel()
    raise TimeoutError


def certificate_problem(wrong: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """Why TLS refused a certificate, below the errors of the libraries."""
    while wrong is not None:
        if isinstance(wrong, ssl.SSLCertVerificationError):
            return wrong
        wrong = wrong.__cause__ or wrong.__context__
    return None


def system_error(wrong: BaseException | None) -> OSError | None:
    """The operating system's error below those of the libraries: connection refused, no route to host."""
    while wrong is not None:
        if isinstance(wrong, BaseExceptionGroup):
            wrong = wrong.exceptions[0]
        if isinstance(wrong, OSError) and wrong.errno and not isinstance(wrong, ssl.SSLError):
            return wrong
        wrong = wrong.__cause__ or wrong.__context__
    return None
