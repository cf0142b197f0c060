"""One step from its start to its end: `done` is asked, the action is run, and retried within the step's limit."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any, Generic, Protocol

from talosmith.engine.failures import explained, timed_out
from talosmith.engine.stopping import Stopping
from talosmith.errors import TalosmithError, Temporary
from talosmith.events import EventKind
from talosmith.plan.step import C, Step
from talosmith.waiting import limited, retry_pause, running_task

# Done, and whether something was changed; failed; or left, because the run stops.
Ended = bool | TalosmithError | None

_LAST_LOOK = 4.0  # seconds past the limit, to see whether the change was made after all


class Tell(Protocol):
    def __call__(self, kind: EventKind, text: str = "", step: Step[Any] | None = None, **data: Any) -> bool: ...


class StepAttempts(Generic[C]):
    def __init__(
        self,
        step: Step[C],
        context: C,
        tell: Tell,
        stopping: Stopping,
        check_lock: Callable[[], None],
        limit: float = math.inf,
    ) -> None:
        self._step = step
        self._action = step.action
        self._context = context
        self._tell = tell
        self._stopping = stopping
        self._check_lock = check_lock
        self._limit = min(step.action.limit, limit)
        self._last = self._hint = ""  # what the step waits for, or its last error; the later of both
        self._reported = "", ""
        self._ran = False
        self._over = False

    async def until_ended(self) -> Ended:
        try:
            async with limited(self._limit) as limit:
                return await self._repeat(limit)
            if self._ran and await self._done_after_all():
                return True
            return timed_out(self._limit, self._last, self._hint)
        finally:
            self._over = True

    async def _repeat(self, limit: limited) -> Ended:
        attempt = 0
        while True:
            attempt += 1
            ended = await self._once()
            if not isinstance(ended, Temporary):
                return ended
            self._last, self._hint = str(ended), ended.hint
            wait = retry_pause(attempt, ended.retry_after, limit.left)
            self._tell("step-retrying", self._last, self._step, attempt=attempt, wait=round(wait, 3))
            if _cancelled():  # and the action turned that into an error: asyncio does not raise it again
                raise asyncio.CancelledError
            if not self._stopping.ending:
                async with limited(wait):
                    await self._stopping.until_wanted()
            if self._stopping.ending:
                return None

    async def _once(self) -> bool | TalosmithError:
        try:
            self._check_lock()
            if await self._action.done(self._context):
                return self._ran
            self._ran = True
            await self._action.run(self._context, self._report)
        except asyncio.CancelledError as stray:
            if _cancelled():
                raise
            return explained(stray)
        except Exception as problem:
            return explained(problem)
        return True

    async def _done_after_all(self) -> bool:
        async with limited(_LAST_LOOK):
            try:
                return await self._action.done(self._context)
            except Exception:
                return False  # the error is that the limit is exceeded
        return False

    def _report(self, text: str, hint: str = "", *, phase: str = "") -> None:
        if self._over or (text, phase) == self._reported:
            return
        self._last, self._hint = text, hint
        self._reported = text, phase
        self._tell("step-progress", text, self._step, **({"phase": phase} if phase else {}))


def _cancelled() -> bool:
    """Whether the step's task was cancelled: by its limit, by the run, or with the run."""
    return running_task().cancelling() > 0
