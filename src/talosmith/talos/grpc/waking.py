"""Deadlines and lost connections must not upset the caller's own cancelling.

grpclib wakes a task that waits for a node by cancelling it, then turns the cancellation into an error. It leaves the
task marked as cancelled, and timeouts and task groups around the call, which count such marks, go wrong later.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from grpclib.utils import DeadlineWrapper


class Waker(DeadlineWrapper):
    """grpclib's, but it takes back the cancellations that it made."""

    def __init__(self) -> None:
        super().__init__()
        self._woken: set[asyncio.Task[Any]] = set()

    def cancel(self, error: Exception) -> None:
        if self._error is None:  # the first reason is the true one; later ones follow from it
            self._woken |= self._tasks
            super().cancel(error)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        task = asyncio.current_task()
        if task in self._woken:
            self._woken.discard(task)
            task.uncancel()
        super().__exit__(exc_type, exc_val, exc_tb)
