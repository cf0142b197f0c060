"""The event loop's clock in a test's hands: a deadline runs out when the test says so, not when a machine is busy."""

from __future__ import annotations

import asyncio


class Clock:
    """That of the running loop, for as long as the loop lives: every timer and time-out in it goes by this one."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._real = loop.time
        self._ahead = 0.0
        self._stopped: float | None = None
        loop.time = self.time  # type: ignore[method-assign]

    def time(self) -> float:
        return self._ahead + (self._real() if self._stopped is None else self._stopped)

    def forward(self, seconds: float) -> None:
        """What was to happen by then happens next."""
        self._ahead += seconds

    def stop(self) -> None:
        """No time passes, however long things take."""
        self._stopped = self._real()

    def go_on(self) -> None:
        if self._stopped is not None:
            self._ahead -= self._real() - self._stopped
            self._stopped = None
