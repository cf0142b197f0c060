"""Hearing of changes: nodes tell when a service or their own stage changes, Kubernetes when a node or pod does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from talosmith.errors import TalosmithError
from talosmith.kube import KubeClient, Snapshot, follow
from talosmith.talos import ChangeKind, TalosNode

MOST = 64  # nodes that are listened to; where there are more, news of another node comes soon enough
_AGAIN = 1.0  # seconds until a node that stopped talking is listened to again
_KINDS = ("services", "machinestatuses")


class Listener:
    """`async with Listener(…) as listener: await listener.listen(2.0)`

    Nothing is listened to before that, or before `begin`.
    """

    def __init__(self, nodes: Sequence[TalosNode], kube: KubeClient | None) -> None:
        self._nodes = nodes[:MOST]
        self._kube = kube
        self._heard = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.changes = 0  # of nodes, since the start; news of Kubernetes wakes, but does not count

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def listen(self, seconds: float) -> None:
        """Until something changes, and for so long at most."""
        self.begin()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):  # `wait_for` forgets a cancellation that comes with the news
                await self._heard.wait()
        self._heard.clear()

    def begin(self) -> None:
        """From now on changes are counted; may be called again."""
        if self._tasks:
            return
        followed: list[Coroutine[Any, Any, None]] = [
            self._node(node, kind) for node in self._nodes for kind in _KINDS
        ]
        if self._kube is not None:
            followed += [self._objects(self._kube, "Node", ""), self._objects(self._kube, "Pod", "kube-system")]
        self._tasks = [asyncio.create_task(one) for one in followed]

    async def _node(self, node: TalosNode, kind: str) -> None:
        while True:
            known = False
            with suppress(TalosmithError):
                async for change in node.watch(kind):
                    if known:
                        self.changes += 1
                        self._heard.set()
                    known = known or change.kind is ChangeKind.BOOTSTRAPPED
            if known:  # it went away
                self.changes += 1
                self._heard.set()
            await asyncio.sleep(_AGAIN)

    async def _objects(self, kube: KubeClient, kind: str, namespace: str) -> None:
        while True:
            with suppress(TalosmithError):
                async for news in follow(kube, "v1", kind, namespace):
                    if not isinstance(news, Snapshot):
                        self._heard.set()
            await asyncio.sleep(_AGAIN)
