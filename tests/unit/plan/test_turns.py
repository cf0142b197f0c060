"""Rolling turns: run in any order that the edges allow, never too many nodes are disturbed at the same time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talosmith.plan.builder import PlanBuilder, Selection
from talosmith.plan.step import Disruption, Plan, StepKey
from talosmith.plan.turns import Turns
from talosmith.steps.action import OnNode


@dataclass(frozen=True, slots=True)
class Reboot(OnNode):
    verb: ClassVar[str] = "reboot"

    @property
    def disruption(self) -> Disruption:
        return "reboot"

    def describe(self) -> str:
        return self.verb


@dataclass(frozen=True, slots=True)
class Back(OnNode):
    """The end of a turn of two steps."""

    verb: ClassVar[str] = "back"

    def describe(self) -> str:
        return self.verb


@dataclass(frozen=True, slots=True)
class Heal(OnNode):
    verb: ClassVar[str] = "heal"

    def describe(self) -> str:
        return self.verb


nodes = st.lists(
    st.tuples(st.sampled_from(["cp", "w"]), st.integers(1, 8)), unique=True, min_size=1, max_size=12
).map(lambda pairs: [f"{role}-{number}" for role, number in pairs])


def rolling(order: list[str], max_unavailable: int, *, two_steps: bool = False, skip: tuple[str, ...] = ()) -> Plan:
    plan = PlanBuilder[Any]("up", "mine")
    plan.add(Heal("w-9"), "")
    plan.add(Heal(order[0]), "")
    turns = Turns(plan, changing={order[0]}, max_unavailable=max_unavailable)
    for name in order:
        last = Back.key_of(name) if two_steps else None
        needs = turns.take(Reboot.key_of(name), last, is_controlplane=name.startswith("cp"))
        plan.add(Reboot(name), "", needs=needs)
        if two_steps:
            plan.add(Back(name), "", needs=[Reboot.key_of(name)])
    return plan.freeze(Selection(skip=skip))


def disturbed_together(plan: Plan, choose: Any) -> list[set[str]]:
    """The nodes whose turn it is, after each event of a run that starts and ends steps in any order."""
    started: list[StepKey] = []
    done: set[StepKey] = set()
    found = []
    while len(done) < len(plan):
        ready = [s.key for s in plan if s.key not in started and done.issuperset(s.needs)]
        running = [key for key in started if key not in done]
        event = choose(st.sampled_from([("start", key) for key in ready] + [("end", key) for key in running]))
        (started.append if event[0] == "start" else done.add)(event[1])
        turns = Counter(key.subject for key in started if key.verb != "heal")
        over = Counter(key.subject for key in done if key.verb != "heal")
        whole = Counter(step.subject for step in plan if step.key.verb != "heal")
        found.append({name for name in turns if over[name] < whole[name]})
    return found


@given(nodes, st.integers(1, 4), st.booleans(), st.data())
def test_never_too_many_at_once(order: list[str], max_unavailable: int, two_steps: bool, data: Any) -> None:
    plan = rolling(order, max_unavailable, two_steps=two_steps)
    for together in disturbed_together(plan, data.draw):
        assert len(together) <= (1 if any(name.startswith("cp") for name in together) else max_unavailable)


@given(nodes, st.integers(1, 4), st.data())
def test_nor_when_a_node_is_left_out(order: list[str], max_unavailable: int, data: Any) -> None:
    """A chain of turns does not fall apart where a link of it is not selected."""
    left_out = data.draw(st.sampled_from(order))
    plan = rolling(order, max_unavailable, skip=(f"node/{left_out}/*",))
    for together in disturbed_together(plan, data.draw):
        assert len(together) <= (1 if any(name.startswith("cp") for name in together) else max_unavailable)


@given(nodes, st.integers(1, 4))
def test_turns_are_taken_in_the_order_of_the_nodes(order: list[str], max_unavailable: int) -> None:
    plan = rolling(order, max_unavailable)
    assert [step.subject for step in plan if step.key.verb == "reboot"] == order
    assert plan.digest == rolling(order, max_unavailable).digest


@given(nodes)
def test_one_at_a_time_is_one_chain(order: list[str]) -> None:
    plan = rolling(order, 1)
    for before, after in pairwise(order):
        assert Reboot.key_of(before) in plan.step(Reboot.key_of(after)).needs


def test_as_many_workers_as_allowed_start_together_and_a_slow_one_holds_back_one_place() -> None:
    plan = rolling(["cp-1", "w-1", "w-2", "w-3", "w-4"], 2)
    heal = Heal.key_of("w-9")
    needs = {step.subject: step.needs for step in plan if step.key.verb == "reboot"}
    assert needs == {
        "cp-1": (heal,),
        "w-1": (heal, "node/cp-1/reboot"),
        "w-2": (heal, "node/cp-1/reboot"),
        "w-3": (heal, "node/w-1/reboot"),
        "w-4": (heal, "node/w-2/reboot"),
    }


def test_a_control_plane_waits_for_all_workers_that_are_disturbed() -> None:
    needs = rolling(["w-1", "w-2", "cp-1"], 3).step("node/cp-1/reboot").needs
    assert {"node/w-1/reboot", "node/w-2/reboot"} <= {*needs}


def test_later_turns_over_the_same_plan_come_after_all_earlier_ones() -> None:
    plan = PlanBuilder[Any]("up", "mine")
    first = Turns(plan, max_unavailable=2)
    for name in ("w-1", "w-2", "w-3"):
        plan.add(Reboot(name), "", needs=first.take(Reboot.key_of(name), is_controlplane=False))
    again = Turns(plan, max_unavailable=2).take(Back.key_of("w-1"), is_controlplane=False)
    assert again == [Reboot.key_of("w-2"), Reboot.key_of("w-3")]


def test_nobody_waits_for_a_node_that_the_change_may_heal() -> None:
    plan = rolling(["cp-1", "cp-2"], 1)
    assert Heal.key_of("cp-1") not in plan.step("node/cp-2/reboot").needs


@pytest.mark.parametrize("number", [0, -1])
def test_no_turn_at_all_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="no node would ever get its turn"):
        Turns(PlanBuilder[Any]("up", "mine"), max_unavailable=number)
