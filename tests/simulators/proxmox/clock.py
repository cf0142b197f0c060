"""The time of the simulated cluster: real time, or as much as a test lets pass; and the events to come."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable


class Clock:
    """Seconds since 1970. Frozen, only `forward` moves the clock."""

    def __init__(self) -> None:
        self._base = time.time() - time.monotonic()
        self._ahead = 0.0
        self._frozen: float | None = None

    def now(self) -> float:
        real = self._base + time.monotonic() if self._frozen is None else self._frozen
        return real + self._ahead

    def forward(self, seconds: float) -> None:
        self._ahead += seconds

    def freeze(self) -> None:
        if self._frozen is None:
            self._frozen = self._base + time.monotonic()

    def thaw(self) -> None:
        if self._frozen is not None:
            self._ahead += self._frozen - (self._base + time.monotonic())
            self._frozen = None


class Agenda:
    """Events and the times of the clock at which each is due."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.listeners: list[Callable[[], None]] = []  # called when an event is added
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.clock.now() + seconds, next(self._number), what))
        for listener in self.listeners:
            listener()

    def next_due(self) -> float | None:
        return self._events[0][0] if self._events else None

    def run_due(self) -> None:
        while self._events and self._events[0][0] <= self.clock.now():
            heapq.heappop(self._events)[2]()

    def pass_time(self, seconds: float) -> None:
        """Event by event: a consequence of an event has a time of its own."""
        target = self.clock.now() + seconds
        while (due := self.next_due()) is not None and due <= target:
            self.clock.forward(max(0.0, due - self.clock.now()))
            self.run_due()
        self.clock.forward(max(0.0, target - self.clock.now()))
        self.run_due()
