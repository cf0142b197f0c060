"""Talos' machine events of many nodes as one sequence: what nodes have kept in time order, then each new event.

Talos does not say where its history ends and the present begins: a moment of silence does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from talosmith.errors import TalosmithError
from talosmith.observed.log_lines import boot_id
from talosmith.talos import Event, TalosNode
from talosmith.waiting import limited

AGAIN = 1.0  # seconds between attempts to reach a node that went away
_SILENCE = 1.0  # seconds without an event: the history is complete
_LONGEST = 10.0  # seconds for the history of a node on which something happens all the time
_REMEMBERED = 4096  # ids of a node's events; Talos keeps fewer

T = TypeVar("T")
Reach = Callable[[str], Awaitable[TalosNode]]


@dataclass(frozen=True, slots=True)
class NodeEvent:
    node: str
    event: Event


@dataclass(frozen=True, slots=True)
class NodeLost:
    """A node does not answer, or its stream ended; `reason` has the original words."""

    node: str
    reason: str


async def history(reach: Reach, names: Sequence[str], tail: int = -1) -> tuple[list[NodeEvent], list[NodeLost]]:
    """The last `tail` events of each node (-1: all that it has kept), and the nodes that could not be asked."""
    found: list[NodeEvent] = []
    lost: list[NodeLost] = []

    async def one(name: str) -> None:
        try:
            found.extend([NodeEvent(name, event) for event in await kept_events(await reach(name), tail)])
        except TalosmithError as wrong:
            lost.append(NodeLost(name, str(wrong)))

    await asyncio.gather(*map(one, names))
    return in_order(found), sorted(lost, key=lambda one: one.node)


async def kept_events(node: TalosNode, tail: int = -1) -> list[Event]:
    stream = node.events(tail=tail)
    return await _until_silence(lambda: anext(stream))


async def _until_silence(get: Callable[[], Awaitable[T]]) -> list[T]:
    found: list[T] = []
    async with limited(_LONGEST):
        while True:
            count = len(found)
            async with limited(_SILENCE):
                found.append(await get())
            if len(found) == count:
                break
    return found


def in_order(events: Sequence[NodeEvent]) -> list[NodeEvent]:
    """By time; events of one node keep their order."""
    return sorted(events, key=lambda one: one.event.at)


async def follow(reach: Reach, names: Sequence[str], tail: int = 0) -> AsyncIterator[NodeEvent | NodeLost]:
    """The last `tail` events of all nodes in time order, then each new one, until the caller stops.

    A node that goes away is followed again once it answers, with the events that it has kept meanwhile.
    """
    queue: asyncio.Queue[NodeEvent | NodeLost] = asyncio.Queue()
    tasks = [asyncio.create_task(_follow(reach, name, tail, queue.put_nowait)) for name in names]
    try:
        early = await _until_silence(queue.get)
        for news in early:
            if isinstance(news, NodeLost):
                yield news
        for known in in_order([news for news in early if isinstance(news, NodeEvent)]):
            yield known
        while True:
            yield await queue.get()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(reach: Reach, name: str, tail: int, put: Callable[[NodeEvent | NodeLost], None]) -> None:
    seen: deque[str] = deque(maxlen=_REMEMBERED)
    noted = ""
    boot: str | None = None
    lost = rebooted = False
    while True:
        try:
            node = await reach(name)
            before, boot = boot, await boot_id(node)
            rebooted = rebooted or (lost and boot != before)
            # Events of an unchanged boot that the caller did not ask for stay hidden after a lost connection.
            async for event in node.events(tail=-1 if lost and (seen or rebooted) else tail):
                noted = ""
                if event.id not in seen:
                    seen.append(event.id)
                    put(NodeEvent(name, event))
            reason = f"{name}: the node ended the stream"
        except TalosmithError as wrong:
            reason = str(wrong)
        if reason != noted:
            put(NodeLost(name, noted := reason))
        lost = True
        await asyncio.sleep(AGAIN)
