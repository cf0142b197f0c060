"""That patience hides nothing: what is wrong for good, or forever, is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from talosmith.talos import AlreadyExists, NotFound, NotReady
from tests.real.talos import patience
from tests.real.talos.patience import done, eventually, refused

BUSY, UNHEALTHY = NotReady("n", "busy"), NotReady("n", "not enough members")
UNKNOWN, THERE = NotFound("n", "member not found"), AlreadyExists("n", "there is data")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_PAUSE", 0.0)


def answering(*answers: object) -> Callable[[], Awaitable[object]]:
    """One after the other, the last one again and again; errors are raised."""
    left = list(answers)

    async def ask() -> object:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ask


async def test_the_answer_is_waited_for() -> None:
    assert await eventually(answering(BUSY, None, 1, 2)) is None
    assert await eventually(answering(BUSY, 1, BUSY, 2, 3), lambda answer: answer == 2) == 2
    with pytest.raises(NotFound):
        await eventually(answering(BUSY, UNKNOWN, 1))


async def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 0.05)
    with pytest.raises(AssertionError, match="still: n: busy"):
        await eventually(answering(BUSY))
    with pytest.raises(AssertionError, match="still: 7"):
        await eventually(answering(7), lambda answer: False)
    with pytest.raises(AssertionError, match="still: n: busy"):
        await refused(answering(BUSY), NotFound)


async def test_a_refusal_is_the_one_that_is_expected() -> None:
    await refused(answering(BUSY, UNKNOWN), NotFound, "member not found")
    await refused(answering(BUSY, UNHEALTHY), words="not enough")  # which is temporary itself
    with pytest.raises(AssertionError, match="was not refused: 1"):
        await refused(answering(BUSY, 1), NotFound)
    with pytest.raises(AlreadyExists):
        await refused(answering(BUSY, THERE), NotFound)
    with pytest.raises(NotFound):
        await refused(answering(UNKNOWN), NotFound, "no such kind")


async def test_what_is_done_already_counts_after_an_answer_was_lost() -> None:
    await done(answering(None), AlreadyExists)
    await done(answering(BUSY, THERE), AlreadyExists)
    with pytest.raises(AlreadyExists):
        await done(answering(THERE), AlreadyExists)
    with pytest.raises(NotFound):
        await done(answering(BUSY, UNKNOWN), AlreadyExists)
