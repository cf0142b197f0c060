"""Runs as they might have been: the plan of a bring-up, and its events on a clock of their own."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from talosmith.errors import Permanent
from talosmith.events import Event
from talosmith.model.resources import SettingChange
from talosmith.plan.step import Disruption, Plan, Stage, Step, StepKey

START = 1_790_000_000.0


STAGES: dict[str, Stage] = {
    "machine": "machines", "config": "configs", "bootstrap": "etcd", "controlplane": "api", "joined": "nodes",
    "health": "health", "kubeconfig": "files",
}  # fmt: skip


def key_of(text: str) -> StepKey:
    """As the action classes make it: `node/cp-1/config`, `machine/cp-1`, `etcd/bootstrap`."""
    area, *rest = text.split("/")
    if len(rest) == 1 and area != "machine":
        return StepKey(area, verb=rest[0])
    return StepKey(area, *rest)


@dataclass(frozen=True)
class Act:
    key: StepKey
    subject: str = ""
    does: str = "do it"
    disruption: Disruption = "none"
    limit: float = 60.0
    refuses: str = ""
    settings: tuple[SettingChange, ...] = ()

    @property
    def stage(self) -> Stage:
        return STAGES.get(self.key.verb or self.key.area, "")

    def describe(self) -> str:
        return self.does

    def calls(self) -> tuple[str, ...]:
        return ()

    async def done(self, context: Any) -> bool:
        return False

    async def run(self, context: Any, report: Any) -> None:
        report(f"looking at {self.subject or 'the cluster'}")
        if self.refuses:
            raise Permanent(self.refuses, hint="look at its console")


def step(
    key: str,
    subject: str = "",
    does: str = "do it",
    *,
    needs: tuple[str, ...] = (),
    reason: str = "it is not so yet",
    disruption: Disruption = "none",
    expected: float | None = None,
    effect: str = "",
) -> Step[Any]:
    return Step(
        action=Act(key_of(key), subject, does, disruption),
        reason=reason,
        needs=tuple(map(key_of, needs)),
        expected=expected,
        effect=effect,
    )


def bring_up_plan(controlplanes: int = 3, workers: int = 2, cluster: str = "dev") -> Plan[Any]:
    cps = [f"cp-{number}" for number in range(1, controlplanes + 1)]
    ws = [f"w-{number}" for number in range(1, workers + 1)]
    steps: list[Step[Any]] = []
    for place, node in enumerate((*cps, *ws)):
        seconds = 8 + place % 3
        steps.append(step(f"machine/{node}", node, "create its machine", reason="there is none", expected=seconds))
        steps.append(
            step(
                f"node/{node}/config",
                node,
                "apply its config",
                reason="it waits in maintenance mode",
                needs=(f"machine/{node}",),
                expected=20 + 3 * (place % 4),
            )
        )
    configured = tuple(f"node/{node}/config" for node in cps)
    steps.append(
        step("etcd/bootstrap", "", "bootstrap etcd on cp-1", reason="nobody has it", needs=configured, expected=4)
    )
    steps.append(
        step("cluster/controlplane", "", "wait for the control plane", needs=("etcd/bootstrap",), expected=25)
    )
    for place, node in enumerate((*cps, *ws)):
        needs = ("cluster/controlplane", f"node/{node}/config")
        steps.append(step(f"node/{node}/joined", node, "wait until it is Ready", needs=needs, expected=9 + place % 5))
    joined = tuple(f"node/{node}/joined" for node in (*cps, *ws))
    steps.append(step("cluster/health", "", "wait until all is healthy", needs=joined, expected=6))
    steps.append(step("files/kubeconfig", "", "write the kubeconfig", needs=("cluster/controlplane",), expected=0.2))
    return Plan(operation="up", cluster=cluster, steps=tuple(steps))


def plan_data(plan: Plan[Any]) -> dict[str, Any]:
    return {
        one.key: {
            "needs": list(one.needs),
            "title": one.action.describe(),
            "subject": one.subject,
            "stage": one.stage,
            "expected_seconds": one.expected,
        }
        for one in plan
    }


@dataclass
class Story:
    """Every step takes as long as expected, says why it waits half-way, and starts when its needs are done."""

    plan: Plan[Any]
    fails: dict[str, str] = field(default_factory=dict)  # key -> what it says
    already: tuple[str, ...] = ()
    waits: dict[str, str] = field(default_factory=dict)
    killed_at: float | None = None  # seconds after the start

    def events(self) -> list[Event]:
        told = sorted(self._steps(), key=lambda event: event.at)
        end = max((event.at for event in told), default=START)
        failed = [event.step for event in told if event.kind == "step-failed"]
        first = Event(
            kind="run-started",
            at=START,
            data={"operation": self.plan.operation, "cluster": self.plan.cluster, "plan": plan_data(self.plan)},
        )
        done = [event.step for event in told if event.kind == "step-done"]
        left = [event.step for event in told if event.kind == "step-skipped"]
        outcome = "failed" if failed else "done"
        data = {"outcome": outcome, "done": done, "failed": failed, "left": left}
        last = Event(kind="run-finished", at=end, data=data)
        whole = [first, *told, last]
        if self.killed_at is None:
            return whole
        return [event for event in whole if event.at <= START + self.killed_at]

    def _steps(self) -> Iterator[Event]:
        ends: dict[str, float] = {}
        lost: set[str] = set()
        for one in self.plan:
            start = max((ends.get(need, START) for need in one.needs), default=START)
            cause = next((need for need in one.needs if need in lost), None)
            if cause is not None:
                lost.add(one.key)
                ends[one.key] = start
                text = f"needs {cause}"
                yield self._event("step-skipped", start, one, text, because=cause)
                continue
            took = 0.1 if one.key in self.already else one.expected or 1.0
            ends[one.key] = start + took
            yield self._event("step-started", start, one)
            wait = self.waits.get(one.key, "waiting for an answer")
            yield self._event("step-progress", start + took / 2, one, wait)
            if one.key in self.fails:
                lost.add(one.key)
                yield self._event("step-retrying", start + took * 0.7, one, "no answer", attempt=1, wait=2.0)
                yield self._event("step-failed", start + took, one, self.fails[one.key], hint="look at its console")
            else:
                yield self._event("step-done", start + took, one, changed=one.key not in self.already)

    @staticmethod
    def _event(kind: Any, at: float, one: Step, text: str = "", **data: Any) -> Event:
        return Event(kind=kind, at=at, step=one.key, subject=one.subject, text=text, data=data)


HOSTILE = "\x1b]0;owned\x07\x1b[2J\r\n</title><script>alert(1)</script>\u202e\u2028\"'&\x9b31m\udcff"


def is_tame(text: str) -> bool:
    """Nothing in it would make a terminal do something; line ends are the writer's own."""
    return not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text if char != "\n")
