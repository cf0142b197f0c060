"""Waiting for what libvirtd, guests and the kernel bring about: as long as it takes on a busy computer."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio

PATIENCE = 600.0  # seconds; they cost nothing where all is well
_OFTEN = 0.05


def until(holds: Callable[[], object], told: Callable[[], object] = lambda: "") -> None:
    """`told` says what there was instead."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, told()
        time.sleep(_OFTEN)


async def comes_true(look: Callable[[], Awaitable[str]]) -> None:
    """Once `look` returns nothing; before, it says what there was instead."""
    deadline = time.monotonic() + PATIENCE
    while wrong := await look():
        assert time.monotonic() < deadline, wrong
        await anyio.sleep(_OFTEN)
