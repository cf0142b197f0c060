"""Deadlines and lost connections must not upset the caller's own cancelling.

grpclib wakes a task that waits for a node by cancelling it, then turns the cancellation into an error. Its own class
leaves the task marked as cancelled, and timeouts and task groups around the call, which count such marks, go wrong
later. So this class stands in its place, and uses nothing of it but the type.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from grpclib.utils import Wrapper


class Waker(Wrapper):
    """Ends every wait of a call with the error that ended the call, and takes back the cancellations that it made."""

    def __init__(self) -> None:
        self._reason: Exception | None = None
        self._waiting: dict[asyncio.Task[Any], int] = {}  # and how often each had been cancelled before
        self._woken: set[asyncio.Task[Any]] = set()

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        late = TimeoutError("Deadline exceeded")
        if seconds <= 0:
            raise late
        timer = asyncio.get_running_loop().call_later(seconds, self.cancel, late)
        try:
            yield
        finally:
            timer.cancel()

    def cancel(self, error: Exception) -> None:
        if self._reason is None:  # the first reason is the true one; later ones follow from it
            self._reason = error
            self._woken |= self._waiting.keys()
            for task in self._waiting:
                task.cancel()

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - calls are made by tasks
        if self._reason is not None:
            raise self._reason
        self._waiting[task] = task.cancelling()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        before = self._waiting.pop(task, 0)
        if task in self._woken:
            self._woken.discard(task)
            task.uncancel()
        cancelled = exc_type is asyncio.CancelledError and task.cancelling() > before  # by the caller as well
        if self._reason is not None and not cancelled:
            raise self._reason
