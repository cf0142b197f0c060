"""The runner: what it makes of steps that fail, report, or lose the lock."""

from __future__ import annotations

import asyncio

from engine_actions import Fake, Heard, plan_of, refuse

from talosmith.engine.failures import Internal
from talosmith.engine.lock import LockLost
from talosmith.engine.runner import run
from talosmith.engine.stopping import Stopping
from talosmith.errors import ExitCode, Permanent, TalosmithError, Temporary
from talosmith.events import Event, Events
from talosmith.model.secret import Secret
from talosmith.plan.step import Report
from talosmith.waiting import until


async def test_a_failure_says_what_and_how_to_go_on() -> None:
    heard = Heard()
    outcome = await run(plan_of([Fake("a", body=refuse), Fake("b"), Fake("c")], {"b": ["a"]}), None, heard.events)
    assert heard.one("step-failed", "a").text == "the node says no"
    assert heard.one("step-failed", "a").data == {"hint": "ask it nicely"}
    assert heard.one("step-skipped", "b").data == {"because": "a"}
    assert (outcome.done, outcome.left, outcome.exit_code) == (("c",), ("b",), ExitCode.FAILED)
    assert heard.all[-1].data["outcome"] == "failed"


async def test_reports_are_told_once_each() -> None:
    async def talk(report: Report) -> None:
        for text in ("no leader", "no leader", "no leader", "leader is cp-1", "no leader"):
            report(text)

    heard = Heard()
    await run(plan_of([Fake("a", body=talk)]), None, heard.events)
    assert heard.texts("step-progress") == ["no leader", "leader is cp-1", "no leader"]


async def test_a_report_after_the_end_is_not_told() -> None:
    kept: list[Report] = []

    async def keep(report: Report) -> None:
        kept.append(report)

    heard = Heard()
    await run(plan_of([Fake("a", body=keep)]), None, heard.events)
    kept[0]("too late")
    assert heard.texts("step-progress") == []


# Errors


async def test_an_unexpected_error_is_told_by_type_and_place_and_never_by_value() -> None:
    async def stumble(report: Report) -> None:
        raise KeyError("hunter2-the-password")

    heard = Heard()
    outcome = await run(plan_of([Fake("a", body=stumble), Fake("b")]), None, heard.events)
    error = outcome.failed["a"]
    assert isinstance(error, Internal)
    assert "KeyError at " in str(error)
    assert (
        "test_engine_runner.py:" in str(error) or "engine_actions.py:" in str(error) or "attempts.py:" in str(error)
    )
    assert error.__cause__ is None
    assert error.__context__ is None
    assert "hunter2" not in repr([heard.all, outcome, error.args, error.hint])
    assert outcome.done == ("b",)


async def test_an_error_that_holds_a_secret_object_does_not_show_it() -> None:
    async def stumble(report: Report) -> None:
        raise RuntimeError(Secret("hunter2"))

    outcome = await run(plan_of([Fake("a", body=stumble)]), None, Events())
    assert "RuntimeError" in str(outcome.failed["a"])


async def test_of_errors_in_a_group_the_one_that_will_not_go_away_counts() -> None:
    async def both(report: Report) -> None:
        raise ExceptionGroup("", [Temporary("busy"), ExceptionGroup("", [Permanent("forbidden")])])

    action = Fake("a", body=both)
    outcome = await run(plan_of([action]), None, Events())
    assert str(outcome.failed["a"]) == "forbidden"
    assert action.runs == 1


async def test_a_cancellation_from_nowhere_fails_the_step_and_not_the_run() -> None:
    async def cancelled(report: Report) -> None:
        raise asyncio.CancelledError

    outcome = await run(plan_of([Fake("a", body=cancelled), Fake("b"), Fake("c")], {"c": ["b"]}), None, Events())
    assert isinstance(outcome.failed["a"], Internal)
    assert outcome.done == ("b", "c")


async def test_an_error_with_an_exit_code_of_its_own_decides_it() -> None:
    class Unhealthy(TalosmithError):
        exit_code = ExitCode.UNHEALTHY

    async def sick(report: Report) -> None:
        raise Unhealthy("etcd has no leader")

    outcome = await run(plan_of([Fake("a", body=refuse), Fake("b", body=sick)]), None, Events())
    assert outcome.exit_code == ExitCode.UNHEALTHY


async def test_whoever_has_lost_the_lock_begins_nothing_and_ends_what_runs() -> None:
    lost, under_way = asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    def check() -> None:
        if lost.is_set():
            raise LockLost("taken over by somebody")

    async def lose(report: Report) -> None:
        await under_way.wait()
        lost.set()

    async def long(report: Report) -> None:
        under_way.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("long")

    actions = [Fake("a", body=lose), Fake("b"), Fake("long", body=long), Fake("c"), Fake("d")]
    outcome = await run(plan_of(actions, {"b": ["a"], "d": ["c"], "c": ["a"]}), None, Events(), check_lock=check)
    assert outcome.done == ("a",)
    assert set(outcome.failed) <= {"b", "c"}
    assert outcome.exit_code == ExitCode.LOCK_HELD
    assert ended == ["long"]
    assert [action.runs for action in actions] == [1, 0, 1, 0, 0]


async def test_when_nobody_can_be_told_any_more_nobody_waits_for_long() -> None:
    """Such as with a full disk: a step that waits for its turn to change something gives that up."""
    stopping, waits = Stopping(), asyncio.Event()

    def listener(event: Event) -> None:
        if event.kind == "step-done":
            raise OSError("no space left on device")

    async def never() -> None:
        waits.set()

    async def first(report: Report) -> None:
        await waits.wait()

    async def wait(report: Report) -> None:
        await until(never, report, "waiting for it", stop=lambda: stopping.ending)

    plan = plan_of([Fake("a", body=first), Fake("b", body=wait, limit=3600)])
    async with asyncio.timeout(30):
        outcome = await run(plan, None, Events(listener), stopping=stopping)
    assert outcome.left == ("b",) and outcome.problem is not None
    assert not stopping.wanted and outcome.exit_code == ExitCode.RESUMABLE
