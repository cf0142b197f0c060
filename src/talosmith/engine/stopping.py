"""How a run is asked to stop, by Ctrl-C or by whoever else may.

Asked once, no new step begins and the run ends at a safe point. Asked twice, what runs is cancelled. A third Ctrl-C
ends the process on the spot, as `kill -9` would: all that is on disk survives that, so nobody is ever trapped.
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
    """To be asked within one event loop; signals come in by `on_signals`."""

    def __init__(self) -> None:
        self._wanted = asyncio.Event()
        self._urgent = asyncio.Event()
        self._given_up = False

    def ask(self) -> None:
        """Once: at a safe point. Again: at once."""
        (self._urgent if self._wanted.is_set() else self._wanted).set()

    @property
    def wanted(self) -> bool:
        return self._wanted.is_set()

    @property
    def ending(self) -> bool:
        """Nothing new is to begin: somebody wants it so, or the run cannot go on."""
        return self.wanted or self._given_up

    def give_up(self) -> None:
        """The run itself comes to its end; nobody has asked for it."""
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
        """For the time of a run: while it lasts, a signal does nothing but ask.

        A signal that was ignored before (`nohup`, a background job) stays ignored. Outside the main thread there are
        no signals; there the run is stopped by `ask` alone.
        """
        stopping = cls()
        if threading.current_thread() is not threading.main_thread():
            yield stopping
            return
        heard = _Heard(stopping)
        before = {number: signal.getsignal(number) for number in SIGNALS}
        taken = [number for number in SIGNALS if before[number] not in (signal.SIG_IGN, None)]
        try:
            for number in taken:
                signal.signal(number, heard)
            yield stopping
        finally:
            for number in taken:
                signal.signal(number, before[number])


class _Heard:
    """The handler. It runs between any two lines of the main thread, so all it does is pass the word on."""

    def __init__(self, stopping: Stopping) -> None:
        self._ask = stopping.ask
        self._loop = asyncio.get_running_loop()
        self._times = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._times += 1
        if self._times > 2:  # perhaps the loop does not turn any more
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        else:
            self._loop.call_soon_threadsafe(self._ask)
