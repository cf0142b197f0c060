"""A run told line by line: for people in CI, and as JSON for programs."""

from __future__ import annotations

import dataclasses
import io
import json
import threading
from datetime import datetime
from typing import Any

from talosmith.events import Event
from talosmith.report.json_lines import JsonLines
from talosmith.report.plain import PlainLines
from tests.output_schemas import assert_valid
from tests.unit.report.stories import HOSTILE, START, Story, bring_up_plan, is_tame
from tests.waiting import until


def told(events: list[Event]) -> list[str]:
    stream = io.StringIO()
    listener = PlainLines(stream)
    for event in events:
        listener(event)
    return stream.getvalue().splitlines()


def event(kind: Any, after: float, text: str = "", **data: Any) -> Event:
    return Event(kind=kind, at=START + after, step="node/cp-1/config", subject="cp-1", text=text, data=data)


def test_a_line_for_each_thing_worth_telling_with_its_time() -> None:
    lines = told(Story(bring_up_plan(), fails={"machine/w-1": "no room left"}, already=("machine/cp-1",)).events())
    assert lines[0] == " 0:00  up dev: 19 steps, started 2026-09-21 14:13:20 UTC"
    assert " 0:00  ✓ cp-1: create its machine: unchanged" in lines
    assert " 0:09  ✓ cp-2: create its machine: done in 9 s" in lines
    assert " 0:08  ✗ w-1: create its machine: failed: no room left; fix: look at its console" in lines
    assert " 0:05  ↻ w-1: create its machine: no answer, retrying in 2 s" in lines
    assert " 0:08  - w-1: apply its config: skipped: needs machine/w-1" in lines
    assert lines[-1] == " 1:18  failed after 1 min 18 s: 15 steps done, 1 failed, 3 not done"
    assert not any("\x1b" in line or "\r" in line for line in lines)


def test_quick_steps_have_one_line_and_slow_ones_say_what_they_do() -> None:
    stream = io.StringIO()
    now = START
    lines = PlainLines(stream, clock=lambda: now)
    lines(event("step-started", 0))
    lines.remind()
    assert stream.getvalue() == ""
    now += 3
    lines.remind()
    assert stream.getvalue() == " 0:03  cp-1: node/cp-1/config …\n"


def test_a_wait_has_the_phase_of_its_node() -> None:
    wait = "waiting for the Talos API in maintenance mode: cp-1 (10.0.0.2): no connection to port 50000 (refused)"
    told_lines = told([event("step-started", 0), event("step-progress", 3, wait, phase="booting")])
    assert told_lines == [" 0:03  cp-1: node/cp-1/config: booting: no connection to port 50000 (refused)"]


def test_waits_are_told_when_they_change_but_not_all_the_time() -> None:
    events = [event("step-started", 0)]
    events += [event("step-progress", second / 10, f"no leader yet ({second})") for second in range(100)]
    assert 2 <= sum("no leader" in line for line in told(events)) <= 3


def test_a_long_wait_for_the_same_is_told_again() -> None:
    events = [
        event("step-started", 0),
        *(event("step-progress", second, "no leader yet") for second in range(1, 100)),
    ]
    waits = [line for line in told(events) if "no leader" in line]
    assert waits[0] == " 0:02  cp-1: node/cp-1/config: no leader yet", "a short wait is not worth a line"
    assert waits[1] == " 0:32  cp-1: node/cp-1/config: still waiting: no leader yet"
    assert len(waits) == 4


def test_a_reason_that_came_too_early_is_told_when_it_is_time() -> None:
    """A step tells a reason once: without this, the one before would be read for as long as the wait lasts."""
    stream = io.StringIO()
    now = START
    lines = PlainLines(stream, clock=lambda: now)
    lines(event("step-started", 0))
    lines(event("step-progress", 3, "no etcd service yet"))
    lines(event("step-progress", 4, "in maintenance mode"))
    for _ in range(100):
        now += 1
        lines.remind()
    waits = [line.partition("  ")[2] for line in stream.getvalue().splitlines()]
    about = "cp-1: node/cp-1/config:"
    assert waits[:3] == [
        f"{about} no etcd service yet",
        f"{about} in maintenance mode",
        f"{about} still waiting: in maintenance mode",
    ]
    assert len(waits) == 5, "the first one, the second one after 5 s, then every 30 s"
    lines(event("step-retrying", 101, "no answer", wait=2.0))
    lines(event("step-done", 102))
    lines.remind()
    assert len(stream.getvalue().splitlines()) == 7, "a step that is done waits for nothing"


def test_with_very_many_steps_only_some_are_told_again() -> None:
    stream = io.StringIO()
    now = START
    lines = PlainLines(stream, clock=lambda: now)
    for number in range(100):
        one = dataclasses.replace(event("step-started", 0), step=f"node/w-{number}/config")
        lines(one)
        lines(dataclasses.replace(one, kind="step-progress", at=START + 3, text="no answer"))
    told = len(stream.getvalue().splitlines())
    now += 34
    lines.remind()
    assert len(stream.getvalue().splitlines()) == told + 10


def test_reasons_are_told_between_events() -> None:
    stream = io.StringIO()
    now = START
    with PlainLines(stream, clock=lambda: now) as lines:
        lines(event("step-started", 0))
        lines(event("step-progress", 1, "no etcd service yet"))
        lines(event("step-progress", 2, "in maintenance mode"))
        now = START + 10
        until(lambda: "in maintenance mode" in stream.getvalue())
    assert "plain-lines" not in [thread.name for thread in threading.enumerate()]


def test_the_run_goes_on_when_nobody_reads_any_more() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    listener = PlainLines(Closed())
    for one in Story(bring_up_plan()).events():
        listener(one)
    assert listener.run.outcome == "done"


def test_json_lines_hold_every_event_in_its_order() -> None:
    events = Story(bring_up_plan(), fails={"machine/w-1": HOSTILE}).events()
    stream = io.StringIO()
    listener = JsonLines(stream)
    for one in events:
        listener(one)
    lines = stream.getvalue().splitlines()
    found = [json.loads(line) for line in lines]
    assert [(one["type"], one["step"], one["subject"], one["text"]) for one in found] == [
        (one.kind, one.step or None, one.subject or None, one.text or None) for one in events
    ]
    assert [datetime.fromisoformat(one["time"]).timestamp() for one in found] == [round(one.at, 3) for one in events]
    assert [step["key"] for step in found[0]["data"]["steps"]] == [step.key for step in bring_up_plan()]
    for one in found:
        assert_valid(one)
    assert stream.getvalue().isascii()
    assert is_tame(stream.getvalue())


def test_foreign_words_cannot_act_on_the_terminal() -> None:
    hostile = [
        dataclasses.replace(
            one, step=HOSTILE, subject=HOSTILE, text=HOSTILE, data={"hint": HOSTILE, "outcome": HOSTILE}
        )
        for one in Story(bring_up_plan(), fails={"machine/w-1": "x"}).events()
    ]
    lines = told(hostile)
    assert any("owned" in line for line in lines)
    assert all(is_tame(line) for line in lines)


def test_events_for_programs_have_the_phase_of_the_node() -> None:
    stream = io.StringIO()
    JsonLines(stream)(event("step-progress", 1, "no etcd", phase="joining"))
    JsonLines(stream)(event("step-progress", 1, "no etcd"))
    assert [json.loads(line)["data"] for line in stream.getvalue().splitlines()] == [
        {"phase": "joining"}, {"phase": None},
    ]  # fmt: skip
