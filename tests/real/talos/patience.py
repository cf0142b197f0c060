"""Asking as a good caller does: what a node says for the moment only is waited out, what it says for good counts.

Real nodes have many such moments: services start one after the other, an etcd without a leader has no answer, and one
whose connections are new takes itself for unhealthy.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from talosmith.errors import Temporary
from talosmith.model.secret import Secret
from talosmith.talos import NotTrusted, TalosError, TalosNode

PATIENCE = (
    900.0  # seconds: on a busy machine a real node takes up to 100 to boot, or to join, and there are slower ones
)
_PAUSE = 0.2


async def eventually(ask: Callable[[], Awaitable[Any]], holds: Callable[[Any], Any] = lambda answer: True) -> Any:
    """The first answer for which it holds, or else the first of all. What is temporary may happen meanwhile."""
    last: object = None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    last = await ask()
                    if holds(last):
                        return last
                except Temporary as trouble:
                    last = trouble
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        raise AssertionError(f"after {PATIENCE:g} s still: {last}") from None


async def refused(
    ask: Callable[[], Awaitable[Any]],
    kind: type[TalosError] | tuple[type[TalosError], ...] = TalosError,
    words: str = "",
) -> None:
    """Until it is refused so. Only what is temporary may come before; whatever else is said, or done, is wrong."""

    async def refusal() -> None:
        try:
            answer = await ask()
        except TalosError as wrong:
            if not (isinstance(wrong, kind) and re.search(words, str(wrong))):
                raise
        else:
            raise AssertionError(f"it was not refused: {answer}")

    await eventually(refusal)


async def done(act: Callable[[], Awaitable[Any]], already: type[TalosError]) -> None:
    """Until it is done. An answer may be lost, or too late, though the node did it: then the next is `already`."""
    tries = 0

    async def once() -> None:
        nonlocal tries
        tries += 1
        try:
            await act()
        except already:
            if tries == 1:
                raise

    await eventually(once)


async def configured(waiting: TalosNode, ours: TalosNode, config: Secret | str) -> None:
    """From maintenance mode, in which it is `waiting`, to a node that answers to its cluster's certificates."""

    async def apply() -> None:
        try:
            await waiting.apply_config(config)
        except (Temporary, NotTrusted):  # the answer may be lost, though the node has heard: then it is ours
            await ours.version()

    await eventually(apply)
    await eventually(ours.version)
