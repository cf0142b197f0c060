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


def plan(**selection: Any) -> Plan[Any]:
    builder = PlanBuilder[Any]("up", "mine")
    leave = builder.add(Leave("a"), "")
    erase = builder.add(Erase("a"), "", requires=[leave, Leave.key_of("b").if_planned])
    builder.add(Sweep("a"), "", requires=[erase])
    builder.add(Sweep("b"), "", needs=[erase])
    return builder.freeze(Selection(**selection))


def test_all_of_it() -> None:
    whole = plan()
    assert [step.key for step in whole] == ["node/a/leave", "node/a/erase", "node/a/sweep", "node/b/sweep"]
    assert whole.notes == ()


def test_what_is_only_needed_may_be_left_out() -> None:
    (step,) = plan(only=("node/b/*",))
    assert step.key == "node/b/sweep" and step.needs == ()


def test_a_step_goes_with_what_it_requires_and_takes_along_what_requires_it() -> None:
    chosen = plan(skip=("node/a/leave",))
    assert [step.key for step in chosen] == ["node/b/sweep"]
    assert chosen.notes == (
        "also skipped: node/a/erase (requires node/a/leave), node/a/sweep (requires node/a/erase)",
    )


def test_who_asks_for_nothing_else_is_told_why_nothing_is_left() -> None:
    with pytest.raises(UsageError) as refused:
        plan(only=("node/a/erase",))
    assert "node/a/erase (requires node/a/leave)" in str(refused.value.hint)


@pytest.mark.parametrize("edge", ["needs", "requires"])
def test_an_edge_to_a_step_that_is_not_planned_is_an_error(edge: str) -> None:
    """Dropped in silence, the step would not wait; a dropped `requires` would be a hole in the safety."""
    builder = PlanBuilder[Any]("up", "mine")
    builder.add(Erase("a"), "", **{edge: [Leave.key_of("a")]})
    with pytest.raises(AssertionError, match="node/a/erase needs node/a/leave, and the plan has no such step"):
        builder.freeze()


@pytest.mark.parametrize("edge", ["needs", "requires"])
def test_an_optional_edge_waits_only_for_what_is_planned(edge: str) -> None:
    builder = PlanBuilder[Any]("up", "mine")
    builder.add(Erase("a"), "", **{edge: [Leave.key_of("a").if_planned, Leave.key_of("b").if_planned]})
    builder.add(Leave("b"), "")
    assert builder.freeze().step("node/a/erase").needs == ("node/b/leave",)


def test_a_confirmation_of_a_step_that_is_not_planned_is_an_error() -> None:
    builder = PlanBuilder[Any]("up", "mine")
    builder.add(Leave("a"), "")
    builder.confirm("sure?", of=[Leave.key_of("b")])
    with pytest.raises(AssertionError, match="no such step"):
        builder.freeze()
