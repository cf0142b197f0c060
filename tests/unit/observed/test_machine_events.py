"""Following events over a reboot and over a lost connection, with a node that plays a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from talosmith.errors import Temporary
from talosmith.observed import machine_events
from talosmith.talos.events import Event, TaskStep

OLD, NEW = "dbtp9s8000001l800ae0", "dbtp9sg000001l800ghg"


class Node:
    """A boot of a node: what it has kept, and what happens while it is followed."""

    def __init__(self, boot: str, kept: tuple[str, ...], later: tuple[str, ...] = (), *, stays: bool = False) -> None:
        self.boot, self.kept, self.later, self.stays = boot, kept, later, stays

    async def boot_id(self) -> str:
        return self.boot

    async def events(self, *, tail: int) -> AsyncIterator[Event]:
        for id_ in (self.kept if tail < 0 else self.kept[len(self.kept) - tail :]) + self.later:
            yield Event(id_, "", TaskStep("task", "start"))
        if self.stays:
            await asyncio.Event().wait()


DOWN = Temporary("w-1: connection refused")


@pytest.mark.parametrize(
    ("script", "tail", "expected"),
    [
        pytest.param(
            [Node("a", (OLD,)), DOWN, Node("b", (NEW,), stays=True)], 0, [NEW], id="rebooted before the first event"
        ),
        pytest.param([DOWN, Node("a", (NEW,), stays=True)], 0, [NEW], id="rebooting at the start"),
        pytest.param([Node("a", (OLD,)), Node("a", (OLD,), (NEW,), stays=True)], 0, [NEW], id="connection lost"),
        pytest.param(
            [Node("a", (OLD,)), Node("a", (OLD, NEW), stays=True)], 1, [OLD, NEW], id="connection lost after an event"
        ),
    ],
)
async def test_following_again(
    monkeypatch: pytest.MonkeyPatch, script: list[Any], tail: int, expected: list[str]
) -> None:
    monkeypatch.setattr(machine_events, "AGAIN", 0.0)
    monkeypatch.setattr(machine_events, "_SILENCE", 0.01)
    turns = iter(script)

    async def reach(name: str) -> Any:
        turn = next(turns)
        if isinstance(turn, Temporary):
            raise turn
        return turn

    seen: list[str] = []
    async with asyncio.timeout(10), aclosing(machine_events.follow(reach, ["w-1"], tail)) as news:
        async for one in news:
            if isinstance(one, machine_events.NodeEvent):
                seen.append(one.event.id)
            if seen == expected:
                break
    assert seen == expected
