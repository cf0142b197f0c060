"""Waiting for the world: by watching where it can be watched, else by looking again, soon at first.

A wait has no limit of its own; the step's limit ends it, and the last thing that was reported is what the user reads.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio

from talosmith.errors import Temporary
from talosmith.plan.step import Report

T = TypeVar("T")

_SOON, _SELDOM = 0.015, 1.0
_SLOWING = 0.01  # of the time already waited: a wait is at most this much longer than it had to be
_FEW = 8  # waits at a time; where there are more, each looks less often
_waiting = 0


class StoppedWaiting(Temporary):
    """The run is to end at a safe point, and a wait before a change, or after one that is complete, is one."""


def _never() -> bool:
    return False


async def until(
    look: Callable[[], Awaitable[T | None]],
    report: Report,
    what: str,
    *,
    stop: Callable[[], bool] = _never,
    soon: float = _SOON,
) -> T:
    """What `look` returns once it is something. It may raise `Temporary`; then the reason is told.

    `stop` is asked before each look, for waits that need not be sat out when the run is asked to stop. `soon` is when
    to look again at first: later, where a look costs something and nobody waits for the answer.
    """
    began = time.monotonic()
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
            await pause(time.monotonic() - began, soon)


async def pause(waited: float, soon: float = _SOON) -> None:
    await anyio.sleep(min(_SELDOM, (soon + waited * _SLOWING) * max(1.0, _waiting / _FEW)))


@contextmanager
def _one_more() -> Iterator[None]:
    global _waiting  # all runs of a process share its time
    _waiting += 1
    try:
        yield
    finally:
        _waiting -= 1
