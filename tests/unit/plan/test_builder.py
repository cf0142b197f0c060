"""What a selection of steps may leave out, and what it may not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from talosmith.errors import UsageError
from talosmith.plan.builder import PlanBuilder, Selection
from talosmith.plan.step import Plan
from talosmith.steps.action import OnNode


@dataclass(frozen=True, slots=True)
class Leave(OnNode):
    verb: ClassVar[str] = "leave"

    def describe(self) -> str:
        return "leave"


@dataclass(frozen=True, slots=True)
class Erase(OnNode):
    verb: ClassVar[str] = "erase"

    def describe(self) -> str:
        return "erase"


@dataclass(frozen=True, slots=True)
class Sweep(OnNode):
    verb: ClassVar[str] = "sweep"

    def describe(self) -> str:
        return "sweep"


def plan(**selection: Any) -> Plan:
    builder = PlanBuilder("up", "mine")
    leave = builder.add(Leave("a"), "")
    erase = builder.add(Erase("a"), "", never_without=[leave, "node/a/never-planned"])
    builder.add(Sweep("a"), "", never_without=[erase])
    builder.add(Sweep("b"), "", needs=[erase])
    return builder.freeze(Selection(**selection))


def test_all_of_it() -> None:
    whole = plan()
    assert [step.key for step in whole] == ["node/a/leave", "node/a/erase", "node/a/sweep", "node/b/sweep"]
    assert whole.notes == ()


def test_what_is_only_needed_may_be_left_out() -> None:
    (step,) = plan(only=("node/b/*",))
    assert step.key == "node/b/sweep" and step.needs == ()


def test_what_a_step_is_never_without_takes_it_along_and_all_that_hangs_on_it() -> None:
    chosen = plan(skip=("node/a/leave",))
    assert [step.key for step in chosen] == ["node/b/sweep"]
    assert chosen.notes == (
        "also left out: node/a/erase (never without node/a/leave), node/a/sweep (never without node/a/erase)",
    )


def test_who_asks_for_nothing_else_is_told_why_nothing_is_left() -> None:
    with pytest.raises(UsageError) as refused:
        plan(only=("node/a/erase",))
    assert "node/a/erase (never without node/a/leave)" in str(refused.value.hint)
