"""Waiting for what others bring about: as long as it takes on a busy computer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

PATIENCE = 600.0  # seconds; they cost nothing where all is well
_OFTEN = 0.01


def until(condition: Callable[[], object], seconds: float = PATIENCE, told: Callable[[], object] = str) -> None:
    """`told` says what there was instead."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not so within {seconds:g} s: {told()}"
        time.sleep(_OFTEN)


async def comes_true(look: Callable[[], Awaitable[str]]) -> None:
    """Once `look` returns nothing; before, it says what there was instead."""
    end = time.monotonic() + PATIENCE
    while wrong := await look():
        assert time.monotonic() < end, wrong
        await asyncio.sleep(_OFTEN)
