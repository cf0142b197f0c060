"""Runs a world in real time: lets due things happen, saves every change, and wakes who waits for one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from talosmith_lab import settle
from talosmith_lab.server.tally import Tally
from talosmith_lab.store import Store
from talosmith_lab.world import World

_SLICE = 0.05  # seconds of work at a stretch; calls are answered in between

Changed = Callable[[Iterable[str]], None]


class Engine:
    def __init__(self, world: World, store: Store) -> None:
        self.world = world
        self.store = store
        self.on_change: list[Changed] = []  # told the names of machines, after the change is saved
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.watched: dict[tuple[str, str], int] = {}  # the boot whose events a client last followed, by machine
        self.tally = Tally()
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._timer: asyncio.Handle | None = None
        self._closed = False

    def start(self) -> None:
        settle.resume(self.world)
        self.world.changed.update(self.world.machines)  # every machine has to be looked at once
        self.commit()

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for futures in self._waiting.values():
            for future in futures:
                future.cancel()

    def commit(self) -> None:
        """Let everything follow from what was changed, save it, and tell."""
        with self._or_end():
            settle.settle(self.world)
            self._publish()

    async def changed(self, machine: str) -> None:
        """Wait for the next change of a machine, or of what is told of it."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(machine, [])
        waiting.append(future)
        try:
            await future
        finally:
            with suppress(ValueError):
                waiting.remove(future)

    def _publish(self) -> None:
        world = self.world
        names = {*world.changed, *(record.machine for record in world.records)}
        self.store.save(world)
        for listener in self.on_change:
            listener(names)
        for name in names:
            for future in self._waiting.pop(name, ()):
                if not future.done():
                    future.set_result(None)
        self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.world.timeline.next_due()
        if due is None or self._closed:
            return
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(0.0, due - self.world.now()), self._tick)

    def _tick(self) -> None:
        self._timer = None
        end = time.monotonic() + _SLICE
        with self._or_end():
            while settle.next_thing(self.world) and time.monotonic() < end:
                pass
            self._publish()

    @contextmanager
    def _or_end(self) -> Iterator[None]:
        """A lab that cannot keep what happened, or does not know what comes next, must not go on as if it could."""
        try:
            yield
        except Exception as error:
            if not self.failed.done():
                self.failed.set_exception(error)
            raise
