"""Waiting: told about, ended by what is found, by a limit, or by somebody who wants the run to stop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.waiting import StoppedWaiting, backoff, limited, poll, retried, until


def silent(text: str, hint: str = "", *, phase: str = "") -> None:
    """For who does not want to know."""


class World:
    """Answers one after the other; errors are raised."""

    def __init__(self, *answers: object) -> None:
        self._answers: Iterator[object] = iter(answers)
        self.looks = 0

    async def look(self) -> object | None:
        self.looks += 1
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_what_is_found_ends_it_and_reasons_are_told() -> None:
    told: list[tuple[str, str]] = []

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        told.append((text, hint))

    world = World(None, Temporary("nobody answers", hint="switch it on"), None, "found")
    assert await until(world.look, report, "waiting for it") == "found"
    assert told == [("waiting for it: nobody answers", "switch it on")]


async def test_what_is_hopeless_is_not_waited_for() -> None:
    with pytest.raises(Permanent, match="never"):
        await until(World(None, Permanent("never")).look, silent, "waiting")


async def test_a_run_that_is_to_stop_does_not_sit_it_out() -> None:
    world = World(None, None, None, None)
    with pytest.raises(StoppedWaiting, match="stopped while waiting for it"):
        await until(world.look, silent, "waiting for it", stop=lambda: world.looks == 2)
    assert world.looks == 2


async def test_a_limit_ends_what_is_inside_and_leaves_no_mark() -> None:
    async with limited(0.01) as limit:
        await asyncio.sleep(60)
    assert limit.over and limit.left <= 0
    task = asyncio.current_task()
    assert task is not None and task.cancelling() == 0
    async with limited(60) as limit:
        await asyncio.sleep(0)
    assert not limit.over and 0 < limit.left <= 60
    async with limited(math.inf) as limit:
        assert limit.left == math.inf


async def test_the_inner_of_two_limits_ends_only_itself() -> None:
    reached = False
    async with limited(60) as outer:
        async with limited(0.01) as inner:
            await asyncio.sleep(60)
        reached = True
    assert (inner.over, outer.over, reached) == (True, False, True)
    async with limited(0.01) as outer:
        async with limited(60) as inner:
            await asyncio.sleep(60)
        reached = False
    assert (inner.over, outer.over, reached) == (False, True, True)


async def test_a_limit_does_not_silence_who_cancels() -> None:
    began, after = asyncio.Event(), False

    async def work() -> None:
        nonlocal after
        async with limited(0.01):
            try:
                await asyncio.sleep(60)
            finally:
                began.set()
                asyncio.current_task().cancel()  # type: ignore[union-attr] # while the limit's own is on its way
                await asyncio.sleep(0)
        after = True

    task = asyncio.create_task(work())
    await began.wait()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not after


async def test_a_limit_holds_in_a_task_that_cleans_up_after_its_cancellation() -> None:
    over: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            async with limited(0.01) as limit:
                await asyncio.sleep(60)
            over.append(limit.over)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert over == [True]


async def test_an_error_inside_a_limit_comes_out() -> None:
    with pytest.raises(Permanent, match="never"):
        async with limited(0.01):
            try:
                await asyncio.sleep(60)
            finally:
                raise Permanent("never")


async def test_polling_ends_with_what_it_waits_for_or_at_its_limit() -> None:
    looks = 0

    async def third() -> bool:
        nonlocal looks
        looks += 1
        return looks == 3

    assert await poll(third, every=0.0)
    assert looks == 3
    assert not await poll(third, every=0.001, limit=0.01)


async def test_it_is_tried_again_as_often_as_allowed_and_as_long_as_it_may_help() -> None:
    pauses: list[int] = []

    def pause_after(attempt: int, wrong: Temporary) -> float | None:
        pauses.append(attempt)
        return None if str(wrong) == "hopeless" else 0.0

    world = World(Temporary("1"), Temporary("2"), "answer")
    assert await retried(world.look, 3, pause_after) == "answer"
    assert pauses == [1, 2]
    with pytest.raises(Temporary, match="2"):
        await retried(World(Temporary("1"), Temporary("2"), "answer").look, 2, pause_after)
    world = World(Temporary("hopeless"), "answer")
    with pytest.raises(Temporary, match="hopeless"):
        await retried(world.look, 3, pause_after)
    with pytest.raises(Permanent):
        await retried(World(Permanent("no"), "answer").look, 3, pause_after)


def test_pauses_double_up_to_the_longest_and_differ() -> None:
    for attempt, grown in ((1, 0.25), (2, 0.5), (4, 2.0), (9, 10.0), (5000, 10.0)):
        drawn = [backoff(attempt, 0.25, 10.0) for _ in range(50)]
        assert all(grown / 2 <= one <= grown for one in drawn) and len(set(drawn)) > 1
