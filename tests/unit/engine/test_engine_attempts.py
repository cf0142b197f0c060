"""One step: limits, retries, and effects that happen once although the answer was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from engine_actions import Fake, Heard, plan_of
from hypothesis import given
from hypothesis import strategies as st

from talosmith.engine import attempts
from talosmith.engine.failures import TimedOut
from talosmith.engine.runner import run
from talosmith.errors import Permanent, Temporary
from talosmith.events import Events
from talosmith.plan.step import Report
from talosmith.waiting import JITTER, LONGEST, retry_pause
from tests.clock import Clock


class Lossy(Fake):
    """Does what it should, and then says that it does not know."""

    effects = 0

    def __init__(self, error: Callable[[], Exception] | None, **more: object) -> None:
        super().__init__("a", **more)  # type: ignore[arg-type]
        self.error = error

    async def run(self, context: object, report: Report) -> None:
        self.effects += 1
        self.world.add(self.key)
        if self.error is None:
            report("waiting for an answer")
            await asyncio.Event().wait()
        else:
            raise self.error()


@pytest.mark.parametrize(
    "error", [lambda: Temporary("no answer", retry_after=0), TimeoutError], ids=["ours", "system"]
)
async def test_what_was_carried_out_although_the_answer_was_lost_is_not_done_twice(
    error: Callable[[], Exception],
) -> None:
    action, heard = Lossy(error), Heard()
    outcome = await run(plan_of([action]), None, heard.events)
    assert (action.effects, outcome.done) == (1, ("a",))
    assert heard.of("a") == ["step-started", "step-retrying", "step-done"]
    assert heard.one("step-done", "a").data == {"changed": True}


async def test_what_was_carried_out_when_the_limit_came_is_done() -> None:
    action = Lossy(None, limit=0.05)
    outcome = await run(plan_of([action]), None, Events())
    assert (action.effects, outcome.done) == (1, ("a",))


async def test_it_is_tried_again_until_it_works() -> None:
    left = 3

    async def flaky(report: Report) -> None:
        nonlocal left
        left -= 1
        if left:
            raise Temporary(f"busy {left}", retry_after=0.001)

    action, heard = Fake("a", body=flaky), Heard()
    outcome = await run(plan_of([action]), None, heard.events)
    assert outcome.done == ("a",)
    assert heard.texts("step-retrying") == ["busy 2", "busy 1"]
    assert [event.data["attempt"] for event in heard.all if event.kind == "step-retrying"] == [1, 2]
    assert action.looks == 3  # asked before every try


async def test_while_nobody_can_tell_whether_it_is_done_nothing_is_run() -> None:
    class Blind(Fake):
        async def done(self, context: object) -> bool:
            self.looks += 1
            if self.looks < 3:
                raise Temporary("cannot see", retry_after=0)
            return True

    action = Blind("a")
    outcome = await run(plan_of([action]), None, Events())
    assert (outcome.done, outcome.changed, action.runs, action.looks) == (("a",), (), 0, 3)


async def test_permanent_is_not_tried_again() -> None:
    async def refuse(report: Report) -> None:
        raise Permanent("no")

    action = Fake("a", body=refuse)
    await run(plan_of([action]), None, Events())
    assert action.runs == 1


async def wait_and_say(report: Report) -> None:
    report("waiting for etcd on cp-2: no leader yet")
    await asyncio.Event().wait()


async def busy(report: Report) -> None:
    raise Temporary("cp-1: connection refused", retry_after=0.02)


@pytest.mark.parametrize(
    ("body", "words"),
    [(wait_and_say, "waiting for etcd on cp-2: no leader yet"), (busy, "cp-1: connection refused")],
    ids=["waiting", "retrying"],
)
async def test_a_time_out_names_the_last_thing_that_was_seen(body: Callable[[Report], None], words: str) -> None:
    began = asyncio.get_running_loop().time()
    outcome = await run(plan_of([Fake("a", body=body, limit=0.3)]), None, Events())  # type: ignore[arg-type]
    error = outcome.failed["a"]
    assert isinstance(error, TimedOut)
    assert str(error) == f"{words} (not done within 0.3 s)"
    assert "deadline" not in str(error)
    assert error.hint
    assert 0.3 <= asyncio.get_running_loop().time() - began < 120


async def test_the_limit_covers_a_look_that_hangs_too() -> None:
    class Hangs(Fake):
        async def done(self, context: object) -> bool:
            self.looks += 1
            await asyncio.Event().wait()
            return False

    action = Hangs("a", limit=0.05)
    began = asyncio.get_running_loop().time()
    outcome = await run(plan_of([action]), None, Events())
    assert isinstance(outcome.failed["a"], TimedOut)
    assert action.looks == 1
    assert asyncio.get_running_loop().time() - began < 120


async def test_a_step_that_makes_an_error_of_its_cancellation_ends_at_its_limit() -> None:
    """asyncio says it once: whoever catches it would else be tried again for ever."""

    async def swallow(report: Report) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise Temporary("gone") from None

    action = Fake("a", body=swallow, limit=0.05)
    async with asyncio.timeout(120):
        outcome = await run(plan_of([action]), None, Events())
    assert isinstance(outcome.failed["a"], TimedOut)
    assert action.runs == 1


async def test_the_last_look_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert attempts._LAST_LOOK < 5
    monkeypatch.setattr(attempts, "_LAST_LOOK", 0.1)

    class HangsLater(Fake):
        async def done(self, context: object) -> bool:
            self.looks += 1
            if self.looks > 1:
                await asyncio.Event().wait()
            return False

    began = asyncio.get_running_loop().time()
    outcome = await run(plan_of([HangsLater("a", body=wait_and_say, limit=0.05)]), None, Events())
    assert isinstance(outcome.failed["a"], TimedOut)
    assert 0.15 <= asyncio.get_running_loop().time() - began < 120


async def test_time_spent_waiting_for_a_turn_does_not_count() -> None:
    clock = Clock()

    async def long(report: Report) -> None:
        clock.forward(1000)
        await asyncio.sleep(0)

    actions = [Fake(f"s{one}", body=long, limit=1500) for one in range(4)]
    assert len((await run(plan_of(actions), None, Events(), at_once=1)).done) == 4


@given(st.integers(1, 1000), st.floats(0, 600), st.floats(-5, 3600))
def test_pauses_are_bounded_and_never_shorter_than_asked_for(attempt: int, asked: float, left: float) -> None:
    length = retry_pause(attempt, asked, left)
    assert length >= asked
    assert length > 0
    assert length <= max(asked, 0.05, min(LONGEST, left / 2)) * (1 + JITTER)


def test_pauses_grow_and_differ() -> None:
    shortest = [min(retry_pause(attempt, 1.0, 1e6) for _ in range(20)) for attempt in range(1, 5)]
    assert shortest == sorted(shortest)
    assert shortest[3] >= 8.0
    assert len({retry_pause(3, 1.0, 1e6) for _ in range(20)}) > 1
