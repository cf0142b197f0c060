"""Waiting, the only place that knows how: limits of time, looking again, trying again, and pauses that grow.

How long each caller is willing to wait is the caller's own; how that is done without a lost cancellation is not.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from talosmith.errors import Temporary

T = TypeVar("T")
Report = Callable[[str, str], None]  # what is waited for and the last thing seen, and a hint

SHORTEST, LONGEST, JITTER = 0.05, 30.0, 0.25  # of the pauses between a step's tries, in seconds; and a share of them
_SOON, _SELDOM = 0.015, 1.0  # seconds
_SLOWING = 0.01  # of the time already waited: a wait is at most this much longer than it had to be
_FEW = 8  # waits at a time; where there are more, each looks less often
_waiting = 0


def now() -> float:
    """By the event loop's clock, which all time-outs go by, too."""
    return asyncio.get_running_loop().time()


def between_looks(*, simulated: bool) -> float:
    """Seconds between two looks that must both find the same."""
    return 0.03 if simulated else 2.0  # in a lab services stop and start within milliseconds


# Limits


class limited:  # noqa: N801 - used as a statement: `async with limited(3.0) as limit`
    """What is inside ends after so many seconds, in silence; `over` says that it did.

    asyncio's own counts cancellations from zero in Python 3.11.2, so it fails in a task that is being cancelled.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._rung = self.over = False

    @property
    def left(self) -> float:
        return self._end - self._loop.time()

    async def __aenter__(self) -> Self:
        self._loop, self._task = asyncio.get_running_loop(), running_task()
        self._cancelled_before = self._task.cancelling()
        self._end = self._loop.time() + self._seconds
        if self._seconds < math.inf:
            self._timer = self._loop.call_at(self._end, self.end)
        return self

    def end(self) -> None:
        """Now, whatever time is left."""
        if not self._rung:
            self._rung = True
            self._task.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._timer is not None:
            self._timer.cancel()
        if self._rung:
            others = self._task.uncancel() > self._cancelled_before  # another cancellation is not swallowed
            self.over = kind is asyncio.CancelledError and not others
        return self.over


def running_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - who waits is a task
    return task


# Looking again


async def until(
    look: Callable[[], Awaitable[T | None]],
    report: Report,
    what: str,
    *,
    stop: Callable[[], bool] = lambda: False,
    soon: float = _SOON,
) -> T:
    """What `look` returns once it is something. It may raise `Temporary`; then the reason is told.

    There is no limit: the step's ends it, and the last thing that was reported is what the user reads. `stop` is
    asked before each look, for waits that need not be sat out when the run is asked to stop. `soon` is when to look
    again at first: later, where a look costs something and the answer is not urgent.
    """
    began = now()
    with _one_more():
        while True:
            if stop():
                raise StoppedWaiting(f"stopped while {what}")
            try:
                found = await look()
            except Temporary as wrong:
                found = None
                report(f"{what}: {wrong}", wrong.hint)
            if found is not None:
                return found
            await pause(now() - began, soon)


class StoppedWaiting(Temporary):
    """The run is to end at a safe point, and a wait before a change, or after one that is complete, is one."""


async def pause(waited: float, soon: float = _SOON) -> None:
    crowded = max(1.0, _waiting / _FEW)
    await asyncio.sleep(slower(waited, soon * crowded, _SLOWING * crowded, _SELDOM))


def slower(waited: float, soon: float, slowing: float, seldom: float) -> float:
    """Seconds to the next look: soon at first, then a share of what was waited already."""
    return min(seldom, soon + waited * slowing)


@contextmanager
def _one_more() -> Iterator[None]:
    global _waiting  # all runs of a process share its time
    _waiting += 1
    try:
        yield
    finally:
        _waiting -= 1


async def poll(look: Callable[[], Awaitable[bool]], *, every: float, limit: float = math.inf) -> bool:
    """Whether `look` found it so within the limit."""
    async with limited(limit):
        while not await look():
            await asyncio.sleep(every)
        return True
    return False


# Trying again


async def retried(
    ask: Callable[[], Awaitable[T]], tries: int, pause_after: Callable[[int, Temporary], float | None]
) -> T:
    """The first answer. After each `Temporary` but the last a pause, told from how many tries there were (from 1) and
    the error; where it is None the error is raised at once."""
    for attempt in range(1, tries):
        try:
            return await ask()
        except Temporary as wrong:
            seconds = pause_after(attempt, wrong)
            if seconds is None:
                raise
        await asyncio.sleep(seconds)
    return await ask()


def backoff(attempt: int, first: float, longest: float) -> float:
    """Twice as long each time and never the same, so that many who failed together do not come back together."""
    grown = min(longest, first * 2.0 ** min(attempt - 1, 30))
    return random.uniform(grown / 2, grown)  # noqa: S311


def retry_pause(attempt: int, retry_after: float, left: float) -> float:
    """Seconds until a step's next try, after `attempt` tries (from 1) and with `left` seconds to the step's limit.

    Never shorter than the other side asked for, never much longer than half of what is left; LONGEST bends to a
    server that asks for more.
    """
    asked = max(retry_after, SHORTEST)
    grown = asked * 2.0 ** min(attempt - 1, 30)
    bounded = max(asked, min(grown, LONGEST, left / 2))
    return bounded * (1 + random.random() * JITTER)  # noqa: S311
