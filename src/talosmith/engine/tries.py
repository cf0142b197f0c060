"""One step, from the first look to its end: asked whether it is done, run, tried again, within its limit."""

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

# Done, and whether there was something to do; failed; or left, because the run is to stop.
Ended = bool | TalosmithError | None

_LAST_LOOK = 4.0  # seconds past the limit, to see whether it was carried out all the same


class Tell(Protocol):
    def __call__(self, kind: EventKind, text: str = "", step: Step[Any] | None = None, **data: Any) -> bool: ...


class Tries(Generic[C]):
    def __init__(
        self,
        step: Step[C],
        context: C,
        tell: Tell,
        stopping: Stopping,
        may_write: Callable[[], None],
        limit: float = math.inf,
    ) -> None:
        self._step = step
        self._action = step.action
        self._context = context
        self._tell = tell
        self._stopping = stopping
        self._may_write = may_write
        self._limit = min(step.action.limit, limit)
        self._last = self._hint = ""  # what it waits for, or what went wrong; whichever came last
        self._reported = ""
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
            if _cancelled():  # and the action has made an error of it: asyncio does not say it twice
                raise asyncio.CancelledError
            if not self._stopping.ending:
                async with limited(wait):
                    await self._stopping.until_wanted()
            if self._stopping.ending:
                return None

    async def _once(self) -> bool | TalosmithError:
        try:
            self._may_write()
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
                return False  # the limit is what is told
        return False

    def _report(self, text: str, hint: str = "") -> None:
        if self._over or text == self._reported:
            return
        self._last, self._hint = text, hint
        self._reported = text
        self._tell("step-progress", text, self._step)


def _cancelled() -> bool:
    """Whether the step's task is: by its limit, by the run, or with it."""
    return running_task().cancelling() > 0
