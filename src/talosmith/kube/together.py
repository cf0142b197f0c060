"""Doing the same for many at once; the first error ends it, and comes out as itself, not in a group of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

from talosmith.errors import TalosmithError

T = TypeVar("T")


async def together(do: Callable[[T], Awaitable[None]], items: Iterable[T], at_once: int = 16) -> None:
    """Calls `do` with each item, at most `at_once` of them together."""
    limiter = anyio.CapacityLimiter(at_once)

    async def one(item: T) -> None:
        async with limiter:
            await do(item)

    try:
        async with anyio.create_task_group() as group:
            for item in items:
                group.start_soon(one, item)
    except BaseExceptionGroup as several:
        ours, others = several.split(TalosmithError)
        if ours is None or others is not None:
            raise
        raise _first(ours) from None


def _first(group: BaseExceptionGroup[TalosmithError]) -> TalosmithError:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
