"""Several things at once, and things that must not be left half done, with asyncio alone.

grpclib needs asyncio, so nothing else runs here. What asyncio of Python 3.11 does not give: errors that come out of a
group as themselves, cleaning up that a cancellation does not cut short, and threads that are never left behind.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, TypeVar

from talosmith.errors import TalosmithError

T = TypeVar("T")

_THREADS = 40  # asyncio's own are as few as six, and names are looked up by them
_asked_to_stop: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("asked_to_stop", default=None)


@asynccontextmanager
async def task_group() -> AsyncIterator[asyncio.TaskGroup]:
    """asyncio's, but if all that went wrong are errors of ours, the first comes out as itself, not in a group.

    asyncio of Python 3.11 cancels the caller when a child fails late, and forgets to take that back: the caller would
    look as if it was to stop.
    """
    caller = asyncio.current_task()
    before = caller.cancelling() if caller is not None else 0
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as several:
        if caller is not None and caller.cancelling() > before:
            caller.uncancel()
        ours, others = several.split(TalosmithError)
        if ours is None or others is not None:
            raise
        raise _first(ours) from None


def _first(group: BaseExceptionGroup[TalosmithError]) -> TalosmithError:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


async def together(do: Callable[[T], Awaitable[None]], items: Iterable[T], at_once: int = 16) -> None:
    """Calls `do` with each item, at most `at_once` of them together; the first error ends it."""
    room = asyncio.Semaphore(at_once)

    async def one(item: T) -> None:
        async with room:
            await do(item)

    async with task_group() as group:
        for item in items:
            group.create_task(one(item))


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns: it comes to its end also if we are cancelled, and only then are we."""
    return await _to_its_end(asyncio.ensure_future(work))


async def in_thread(work: Callable[[], T]) -> T:
    """`work`, in a thread. If we are cancelled, the thread is told, and waited for: who cleans up is alone."""
    asked = threading.Event()
    context = contextvars.copy_context()
    context.run(_asked_to_stop.set, asked)
    started = asyncio.get_running_loop().run_in_executor(_threads(), context.run, work)
    return await _to_its_end(started, asked.set)


def stop_if_cancelled() -> None:
    """For work that takes long in a thread: an upload of gigabytes does not hold up who wants to stop."""
    asked = _asked_to_stop.get()
    if asked is not None and asked.is_set():
        raise asyncio.CancelledError


async def _to_its_end(work: asyncio.Future[T], cancelled: Callable[[], None] = lambda: None) -> T:
    cancellation: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as ours:
            cancellation = ours
            cancelled()
    if cancellation is None:
        return work.result()
    if not work.cancelled():
        work.exception()  # asyncio complains about exceptions that were never retrieved
    raise cancellation


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="talosmith")
