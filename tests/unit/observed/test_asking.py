"""A call that goes wrong once says nothing about a node; what the node says of itself does."""

from __future__ import annotations

import pytest

from talosmith.errors import TalosmithError
from talosmith.observed.asking import answer_of
from talosmith.talos import Denied, NotReady, TooSlow, Unreachable

LOST = Unreachable("w-1", "the connection was lost", call="ServiceList")
BUSY = NotReady("w-1", "ServiceList: try again", call="ServiceList")


async def asked(*errors: TalosmithError) -> tuple[object, int]:
    """What comes of it if these happen first, and how often was asked."""
    left, count = list(errors), 0

    async def ask() -> str:
        nonlocal count
        count += 1
        if left:
            raise left.pop(0)
        return "fine"

    try:
        return await answer_of(ask), count
    except TalosmithError as wrong:
        return wrong, count


@pytest.mark.parametrize("errors", [(), (LOST,), (BUSY,), (LOST, BUSY)], ids=["none", "lost", "busy", "both"])
async def test_it_is_asked_again(errors: tuple[TalosmithError, ...]) -> None:
    assert await asked(*errors) == ("fine", len(errors) + 1)


async def test_but_not_for_ever() -> None:
    assert await asked(*[BUSY] * 9) == (BUSY, 3)


@pytest.mark.parametrize(
    "final",
    [
        Unreachable("w-1", "nothing answers"),
        NotReady("w-1", "has no etcd service yet"),
        TooSlow("w-1", "no answer within 15 s", call="ServiceList"),
        Denied("w-1", "not for us", call="ServiceList"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_is_an_answer_is_taken_for_one(final: TalosmithError) -> None:
    assert await asked(final) == (final, 1)
