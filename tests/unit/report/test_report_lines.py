"""A run told line by line: for people in CI, and as JSON for programs."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

from talosmith.events import Event
from talosmith.report.json_lines import JsonLines
from talosmith.report.plain import PlainLines
from tests.unit.report.stories import HOSTILE, START, Story, bring_up_plan, is_tame


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
    assert " 0:00  ✓ cp-1: create its machine: was so already" in lines
    assert " 0:09  ✓ cp-2: create its machine: done in 9 s" in lines
    assert " 0:08  ✗ w-1: create its machine: failed: no room left; fix: look at its console" in lines
    assert " 0:05  ↻ w-1: create its machine: no answer, again in 2 s" in lines
    assert " 0:08  - w-1: apply its config: left out: needs machine/w-1" in lines
    assert lines[-1] == " 1:18  failed after 1 min 18 s: 15 steps done, 1 failed, 3 left"
    assert not any("\x1b" in line or "\r" in line for line in lines)


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
    assert waits[0] == " 0:01  cp-1: node/cp-1/config: no leader yet"
    assert waits[1] == " 0:31  cp-1: node/cp-1/config: still no leader yet"
    assert len(waits) == 4


def test_the_run_goes_on_when_nobody_reads_any_more() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    listener = PlainLines(Closed())
    for one in Story(bring_up_plan()).events():
        listener(one)
    assert listener.run.outcome == "done"


def test_json_lines_hold_the_whole_event() -> None:
    events = Story(bring_up_plan(), fails={"machine/w-1": HOSTILE}).events()
    stream = io.StringIO()
    listener = JsonLines(stream)
    for one in events:
        listener(one)
    lines = stream.getvalue().splitlines()
    assert [Event(**json.loads(line)) for line in lines] == events
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
