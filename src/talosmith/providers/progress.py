"""How a provider tells what it is at while something takes long: in a few words, from a task or its worker threads.

A machine may wait for an image to be fetched and copied to a host; who waits wants to know how far that is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_EVERY = 2.0  # seconds between two words about the same thing
_MIB = 1024 * 1024


def _no_listener(text: str) -> None:
    """No listener."""


_listener: ContextVar[Callable[[str], None]] = ContextVar("listener", default=_no_listener)


@contextmanager
def reporting_to(report: Callable[[str], None]) -> Iterator[None]:
    """Progress reported inside goes to `report`, in the event loop's thread, until the block ends."""
    loop, listening = asyncio.get_running_loop(), True

    def pass_on(text: str) -> None:
        if listening:
            report(text)

    def listen(text: str) -> None:
        loop.call_soon_threadsafe(pass_on, text)

    token = _listener.set(listen)
    try:
        yield
    finally:
        listening = False
        _listener.reset(token)


def report_progress(text: str) -> None:
    _listener.get()(text)


def counting(parts: Iterable[bytes], what: str, total: int = 0) -> Iterator[bytes]:
    """The parts as they come; reports the number of bytes now and then. `total` 0: unknown."""
    done, reported = 0, time.monotonic()
    report_progress(what)
    for part in parts:
        done += len(part)
        if time.monotonic() - reported >= _EVERY:
            reported = time.monotonic()
            report_progress(f"{what}: {done / _MIB:.0f}{f' of {total / _MIB:.0f}' if total else ''} MiB")
        yield part
