"""One step, from the first look to its end: asked whether it is done, run, tried again, within its limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, Protocol

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from talosmith.engine.failures import explained, timed_out
from talosmith.engine.stopping import Stopping
from talosmith.errors import TalosmithError, Temporary
from talosmith.events import EventKind
from talosmith.plan.step import C, Step
from talosmith.waiting import retry_pause

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
            with anyio.move_on_after(self._limit) as time:
                return await self._repeat(time)
            if self._ran and await self._done_after_all():
                return True
            return timed_out(self._limit, self._last, self._hint)
        finally:
            self._over = True

    async def _repeat(self, time: anyio.CancelScope) -> Ended:
        attempt = 0
        while True:
            attempt += 1
            ended = await self._once()
            if not isinstance(ended, Temporary):
                return ended
            self._last, self._hint = str(ended), ended.hint
            wait = retry_pause(attempt, ended.retry_after, time.deadline - anyio.current_time())
            self._tell("step-retrying", self._last, self._step, attempt=attempt, wait=round(wait, 3))
            if not self._stopping.ending:
                with anyio.move_on_after(wait):
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
        except anyio.get_cancelled_exc_class() as stray:
            await checkpoint_if_cancelled()  # raises if it is we who are cancelled
            return explained(stray)
        except Exception as problem:
            return explained(problem)
        return True

    async def _done_after_all(self) -> bool:
        with anyio.move_on_after(_LAST_LOOK):
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
