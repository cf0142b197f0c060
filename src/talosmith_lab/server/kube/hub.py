"""Wakes watches when something has changed in their cluster, after it is saved."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from talosmith_lab.server.engine import Engine


class Hub:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._seen: dict[str, int] = {}
        engine.on_change.append(self._look)

    async def changed(self, cluster: str, seconds: float) -> None:
        """Wait for the next change, at most so long."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(cluster, set())
        waiting.add(future)
        try:
            await asyncio.wait([future], timeout=max(0.0, seconds))
        finally:
            waiting.discard(future)

    def _look(self, names: Iterable[str]) -> None:
        quorum_may_differ = bool(list(names))
        for uid, waiting in self._waiting.items():
            cluster = self._engine.world.clusters.get(uid)
            revision = cluster.store.revision if cluster is not None else -1
            if not waiting or (self._seen.get(uid) == revision and not quorum_may_differ):
                continue
            self._seen[uid] = revision
            for future in waiting:
                if not future.done():
                    future.set_result(None)
