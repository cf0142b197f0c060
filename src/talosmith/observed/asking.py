"""Asking a node more than once: one call that goes wrong says nothing about the node, and looking changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from talosmith.errors import Temporary
from talosmith.talos import NotReady, Unreachable
from talosmith.waiting import retried

T = TypeVar("T")

_PAUSES = (0.0, 0.05)  # seconds before each further try


async def answer_of(ask: Callable[[], Awaitable[T]]) -> T:
    """The first answer. Who cannot be reached, or takes too long, is not asked again: that is an answer too."""
    return await retried(ask, len(_PAUSES) + 1, _pause)


def _pause(attempt: int, wrong: Temporary) -> float | None:
    # Without a call it could not be asked, or this is our own judgement of what it said.
    return _PAUSES[attempt - 1] if isinstance(wrong, NotReady | Unreachable) and wrong.call else None
