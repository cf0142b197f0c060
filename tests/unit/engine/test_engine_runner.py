"""The runner: order, parallelism, failures that stay where they are."""

from __future__ import annotations

import asyncio
import json
import math
import random
import time

import pytest
from engine_actions import Fake, Heard, nothing, plan_of, refuse
from hypothesis import given, settings
from hypothesis import strategies as st

from talosmith.engine.runner import Outcome, run
from talosmith.errors import ExitCode, Permanent
from talosmith.events import Event, Events
from talosmith.plan.blocked import Blocked
from talosmith.plan.step import Plan, Report, Step, kind_of
from talosmith.waiting import limited

# Random graphs


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[list[int]], set[int], set[int]]:
    """Needs by position, the steps that fail, and those that are done already."""
    size = draw(st.integers(0, 14))
    needs = [draw(st.lists(st.integers(0, one - 1), max_size=3)) if one else [] for one in range(size)]
    some = st.sets(st.integers(0, max(0, size - 1)), max_size=4)
    return needs, draw(some), draw(some)


@given(graphs(), st.integers(1, 5), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_any_graph_runs_in_order_once_and_failures_stay_where_they_are(
    graph: tuple[list[list[int]], set[int], set[int]], at_once: int, chance: random.Random
) -> None:
    needs, failing, already = graph
    failing = failing - already
    world = {f"s{one}" for one in already}
    began: list[str] = []
    running, most = 0, 0
    heard = Heard()

    def body(position: int) -> Fake:
        pauses = chance.randrange(4)

        async def work(report: Report) -> None:
            nonlocal running, most
            assert {f"s{need}" for need in needs[position]} <= world
            began.append(f"s{position}")
            running += 1
            most = max(most, running)
            for _ in range(pauses):
                await asyncio.sleep(0)
            running -= 1
            if position in failing:
                raise Permanent("broken")

        return Fake(f"s{position}", world, work)

    actions = [body(position) for position in range(len(needs))]
    plan = plan_of(actions, {f"s{one}": [f"s{need}" for need in needs[one]] for one in range(len(needs))})
    outcome = asyncio.run(run(plan, None, heard.events, at_once=at_once))

    # What an oracle says that walks the plan one by one.
    good: dict[int, bool] = {}
    for one, wanted in enumerate(needs):
        good[one] = all(good[need] for need in wanted) and one not in failing
    reached = [one for one, wanted in enumerate(needs) if all(good[need] for need in wanted)]
    assert outcome.done == tuple(f"s{one}" for one in range(len(needs)) if good[one])
    assert list(outcome.failed) == [f"s{one}" for one in reached if not good[one]]
    assert outcome.left == tuple(f"s{one}" for one in range(len(needs)) if one not in reached)
    assert not outcome.stopped
    assert sorted(began) == sorted(f"s{one}" for one in reached if one not in already)
    assert outcome.changed == tuple(f"s{one}" for one in reached if good[one] and one not in already)
    assert most <= at_once
    skipped = [event for event in heard.all if event.kind == "step-skipped"]
    assert sorted(event.step for event in skipped) == sorted(outcome.left)
    assert {event.data["because"] for event in skipped} <= set(outcome.failed)
    assert outcome.exit_code == (ExitCode.FAILED if outcome.failed else ExitCode.DONE)


@pytest.mark.parametrize(("at_once", "steps"), [(64, 50), (3, 20)])
async def test_as_many_run_at_once_as_may(at_once: int, steps: int) -> None:
    gathered = asyncio.Event()
    here = 0

    async def meet(report: Report) -> None:
        nonlocal here
        here += 1
        if here == min(at_once, steps):
            gathered.set()
        await gathered.wait()  # for ever, were there fewer

    outcome = await run(
        plan_of([Fake(f"s{one}", body=meet) for one in range(steps)]), None, Events(), at_once=at_once
    )
    assert len(outcome.done) == steps


async def test_what_stands_first_in_the_plan_begins_first() -> None:
    heard = Heard()
    keys = [f"s{one}" for one in range(30)]
    await run(plan_of([Fake(key) for key in keys], {"s1": ["s0"], "s2": ["s0"]}), None, heard.events, at_once=1)
    assert [event.step for event in heard.all if event.kind == "step-started"] == keys


async def test_ten_thousand_steps_cost_little() -> None:
    """One good look is enough: whatever else the machine does may cost, but never makes a square a line."""
    ratios: list[float] = []
    while not ratios or (ratios[-1] > 25 and len(ratios) < 8):
        few, many = await _cost(1000), await _cost(10_000)
        assert many <= 12.0  # a second, on a machine with nothing else to do
        ratios.append(many / few)
    assert ratios[-1] <= 25, ratios  # ten times as much work; a square would be a hundred


async def _cost(size: int) -> float:
    needs = {f"s{one}": [f"s{one - 1}", f"s{one // 2}"] for one in range(2, size) if one % 7}
    plan = plan_of([Fake(f"s{one}") for one in range(size)], needs)
    before = time.process_time()
    assert len((await run(plan, None, Events())).done) == size
    return time.process_time() - before


# What is told


async def test_a_run_tells_its_plan_and_its_end() -> None:
    heard = Heard()
    outcome = await run(plan_of([Fake("a"), Fake("b"), Fake("c")], {"b": ["a"]}), None, heard.events)
    assert outcome == Outcome(done=("a", "b", "c"), failed={}, left=(), changed=("a", "b", "c"))
    begin = heard.all[0]
    assert (begin.kind, begin.data["operation"], begin.data["cluster"]) == ("run-started", "up", "demo")
    assert begin.data["plan"]["b"] == {
        "title": "do b",
        "subject": "",
        "needs": ["a"],
        "expected_seconds": None,
        "stage": "",
        "disruption": "none",
        "reason": "wanted",
    }
    end = heard.all[-1]
    assert (end.kind, end.data) == (
        "run-finished",
        {"outcome": "done", "exit_code": 0, "done": ["a", "b", "c"], "failed": [], "left": []},
    )
    assert heard.of("b") == ["step-started", "step-done"]


async def test_what_is_so_already_is_not_run() -> None:
    action = Fake("a", {"a"})
    heard = Heard()
    outcome = await run(plan_of([action]), None, heard.events)
    assert action.runs == 0
    assert heard.one("step-done", "a").data == {"changed": False}
    assert outcome.done == ("a",)
    assert outcome.changed == ()


# Plans that are none


@pytest.mark.parametrize(
    ("keys", "needs", "words"),
    [
        (["a", "a"], {}, "two steps a"),
        (["a"], {"a": ["a"]}, "a needs a"),
        (["a"], {"a": ["gone"]}, "a needs gone"),
        (["a", "b"], {"a": ["b"], "b": ["a"]}, "a needs b"),
    ],
    ids=["twice", "itself", "missing", "circle"],
)
async def test_a_plan_that_makes_no_sense_is_not_begun(
    keys: list[str], needs: dict[str, list[str]], words: str
) -> None:
    heard = Heard()
    actions = [Fake(key) for key in keys]
    with pytest.raises(ValueError, match=words):
        await run(plan_of(actions, needs), None, heard.events)
    assert heard.all == []
    assert sum(action.runs for action in actions) == 0


async def test_a_blocked_plan_is_not_begun() -> None:
    heard = Heard()
    action = Fake("a")
    plan = Plan(
        operation="up",
        cluster="demo",
        steps=(Step(action=action, reason=""),),
        blocked=(Blocked(cause="the secrets are missing"),),
    )
    with pytest.raises(Permanent, match="the secrets are missing"):
        await run(plan, None, heard.events)
    assert (heard.all, action.looks) == ([], 0)


async def test_an_empty_plan_is_done() -> None:
    heard = Heard()
    assert (await run(plan_of([]), None, heard.events)).exit_code == ExitCode.DONE
    assert [event.kind for event in heard.all] == ["run-started", "run-finished"]


# Listeners that fail


class FailsAt:
    def __init__(self, kind: str, step: str = "") -> None:
        self.kind, self.step = kind, step

    def __call__(self, event: Event) -> None:
        if (event.kind, event.step) == (self.kind, self.step):
            raise Permanent("the disk is full")


async def test_a_run_that_cannot_be_told_does_not_begin() -> None:
    action, heard = Fake("a"), Heard()
    with pytest.raises(Permanent, match="the disk is full"):
        await run(plan_of([action]), None, Events(FailsAt("run-started"), heard.all.append))
    assert action.looks == 0
    assert [event.kind for event in heard.all] == ["run-started", "run-finished"]  # nobody is left waiting


@pytest.mark.parametrize("kind", ["step-started", "step-progress", "step-done"])
async def test_a_run_that_can_no_longer_be_told_ends_at_a_safe_point(kind: str) -> None:
    async def talk(report: Report) -> None:
        report("working")

    heard = Heard()
    actions = [Fake("a"), Fake("b", body=talk), Fake("c")]
    events = Events(FailsAt(kind, "b"), heard.all.append)
    outcome = await run(plan_of(actions, {"b": ["a"], "c": ["b"]}), None, events)
    assert (outcome.exit_code, str(outcome.problem)) == (ExitCode.RESUMABLE, "the disk is full")
    begun = kind != "step-started"
    assert [action.runs for action in actions] == [1, int(begun), 0]
    assert outcome.left == (("c",) if begun else ("b", "c"))
    assert heard.of("b")[-1] == ("step-done" if begun else "step-skipped")
    assert heard.all[-1].kind == "run-finished"  # the others still hear everything
    assert heard.all[-1].data["outcome"] == "stopped"


# Being cancelled from outside


async def test_a_cancelled_run_ends_its_steps_and_says_so() -> None:
    heard = Heard()
    cleaned: list[str] = []

    under_way = 0

    async def long(report: Report) -> None:
        nonlocal under_way
        under_way += 1
        if under_way == 2:
            limit.end()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("yes")

    actions = [Fake("a", body=long), Fake("b", body=long), *(Fake(f"w{one}") for one in range(10))]
    async with limited(math.inf) as limit:
        await run(plan_of(actions), None, heard.events, at_once=2)
    assert limit.over
    assert cleaned == ["yes", "yes"]
    assert heard.of("a") == ["step-started", "step-skipped"]
    assert heard.of("w0") == []  # although there is room for it now
    assert heard.all[-1].data["outcome"] == "stopped"


# The kinds of steps


@pytest.mark.parametrize(
    ("key", "subject", "kind"),
    [
        ("machine/cp-1", "cp-1", "machine"),
        ("node/cp-1/config", "cp-1", "node/config"),
        ("etcd/bootstrap", "cp-1", "etcd/bootstrap"),
        ("cluster/health", "", "cluster/health"),
        ("node/node/config", "node", "node/config"),
        ("machine/machine", "machine", "machine"),
    ],
)
def test_steps_on_different_nodes_are_of_one_kind(key: str, subject: str, kind: str) -> None:
    assert kind_of(key, subject) == kind
    assert Step(action=Fake(key, subject=subject), reason="").kind == kind


def test_events_are_plain_data() -> None:
    heard = Heard()
    asyncio.run(run(plan_of([Fake("a", body=refuse), Fake("b", body=nothing)]), None, heard.events))
    json.dumps([dict(event.data) for event in heard.all])
