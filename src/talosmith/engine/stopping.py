"""How a run is asked to stop: by Ctrl-C, another signal, or the caller.

Asked once, no further step starts and the run ends at a safe point. Asked twice, running steps are cancelled. A third
Ctrl-C ends the process immediately, as `kill -9` would: everything on disk survives that, so it is always possible.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """Used within one event loop; signals arrive by `on_signals`."""

    def __init__(self) -> None:
        self._wanted = asyncio.Event()
        self._urgent = asyncio.Event()
        self._given_up = False

    def ask(self) -> None:
        """Once: stop at a safe point. Again: stop immediately."""
        (self._urgent if self._wanted.is_set() else self._wanted).set()

    @property
    def wanted(self) -> bool:
        return self._wanted.is_set()

    @property
    def ending(self) -> bool:
        """No further step may start: the run was asked to stop, or cannot continue."""
        return self.wanted or self._given_up

    def give_up(self) -> None:
        """The run ends by itself, without having been asked to stop."""
        self._given_up = True

    @property
    def urgent(self) -> bool:
        return self._urgent.is_set()

    async def until_wanted(self) -> None:
        await self._wanted.wait()

    async def until_urgent(self) -> None:
        await self._urgent.wait()

    @classmethod
    @asynccontextmanager
    async def on_signals(cls) -> AsyncIterator[Self]:
        """For the duration of a run: a signal only asks to stop.

        A signal that was ignored before (`nohup`, a background job) stays ignored. Outside the main thread there are
        no signals; there the run is stopped by `ask` alone.
        """
        stopping = cls()
        if threading.current_thread() is not threading.main_thread():
            yield stopping
            return
        handler = _SignalHandler(stopping)
        before = {number: signal.getsignal(number) for number in SIGNALS}
        taken = [number for number in SIGNALS if before[number] not in (signal.SIG_IGN, None)]
        try:
            for number in taken:
                signal.signal(number, handler)
            yield stopping
        finally:
            for number in taken:
                signal.signal(number, before[number])


class _SignalHandler:
    """It runs between any two lines of the main thread, so it only schedules the request in the event loop."""

    def __init__(self, stopping: Stopping) -> None:
        self._ask = stopping.ask
        self._loop = asyncio.get_running_loop()
        self._times = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._times += 1
        if self._times > 2:  # the event loop may hang
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        else:
            self._loop.call_soon_threadsafe(self._ask)
