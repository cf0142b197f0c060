"""How much is written to a storage at once: a storage that is busy gets less, instead of failing the run.

Clones of one template to one storage wait for each other's locks, and give up after seconds; so there is one at a
time. Creating goes four at a time, and one at a time once the storage has refused to be locked.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from talosmith.errors import Temporary

_CREATING = 4


@dataclass(slots=True)
class _Lane:
    room: int = _CREATING
    inside: int = 0
    free: asyncio.Condition = field(default_factory=asyncio.Condition)


@dataclass(slots=True)
class Lanes:
    _lanes: defaultdict[tuple[str, str], _Lane] = field(default_factory=lambda: defaultdict(_Lane))

    @asynccontextmanager
    async def cloning(self, host: str, storage: str) -> AsyncIterator[None]:
        """Alone."""
        async with self._inside(self._lanes[host, storage], needs=_CREATING):
            yield

    @asynccontextmanager
    async def writing(self, host: str, storage: str) -> AsyncIterator[None]:
        lane = self._lanes[host, storage]
        try:
            async with self._inside(lane, needs=1):
                yield
        except Temporary as busy:
            if "lock" in str(busy):
                lane.room = 1
            raise

    @asynccontextmanager
    async def _inside(self, lane: _Lane, needs: int) -> AsyncIterator[None]:
        async with lane.free:
            await lane.free.wait_for(lambda: lane.inside == 0 or lane.inside + needs <= lane.room)
            lane.inside += needs
        try:
            yield
        finally:
            lane.inside -= needs
            async with lane.free:
                lane.free.notify_all()
