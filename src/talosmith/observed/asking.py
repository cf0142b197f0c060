"""Asking a node more than once: one call that goes wrong says nothing about the node, and looking changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from talosmith.talos import NotReady, Unreachable

T = TypeVar("T")

_PAUSES = (0.0, 0.05)  # seconds before each further try


async def answer_of(ask: Callable[[], Awaitable[T]]) -> T:
    """The first answer. Who cannot be reached, or takes too long, is not asked again: that is an answer too."""
    for pause in _PAUSES:
        try:
            return await ask()
        except (NotReady, Unreachable) as wrong:
            if not wrong.call:  # it could not be asked, or this is our own judgement of what it said
                raise
            await asyncio.sleep(pause)
    return await ask()
