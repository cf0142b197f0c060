"""A run as it stands, put together from its events: what summaries, progress and timelines are drawn from.

It takes events of a run that goes on as well as recorded ones, and those of a run that was killed: nothing is taken
for granted but that they come in order. All text is made fit to be shown here, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from talosmith.events import Event
from talosmith.report.text import one_line

State = Literal["to come", "running", "done", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Saying:
    """What a step waited for, and since when; or what made it try again."""

    at: float
    text: str
    retry: bool = False


@dataclass(slots=True)
class StepSeen:
    key: str
    title: str
    subject: str = ""
    needs: tuple[str, ...] = ()
    expected: float | None = None
    stage: str = ""  # `plan.step.Stage`; empty in journals of old
    state: State = "to come"
    began: float | None = None
    ended: float | None = None
    changed: bool = True
    hint: str = ""
    phase: str = ""  # of the node, as the step reported it last
    because: str = ""  # the step whose failure keeps it from being run
    sayings: list[Saying] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The last thing it said."""
        return self.sayings[-1].text if self.sayings else ""

    @property
    def over(self) -> bool:
        return self.state in ("done", "failed", "skipped")

    def say(self, at: float, text: str, *, retry: bool = False) -> None:
        if text and (not self.sayings or self.sayings[-1].text != text or retry):
            self.sayings.append(Saying(at, text, retry))


class RunSeen:
    """Takes events, and can be asked at any time how things stand."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.operation = ""
        self.cluster = ""
        self.began: float | None = None
        self.latest: float = 0.0
        self.ended: float | None = None
        self.outcome = ""  # done, failed, stopped; empty while it runs, or if it was killed
        self.problem = ""  # why the run had to end, if it was no step's fault
        self.steps: dict[str, StepSeen] = {}
        self.remarks: list[tuple[Literal["note", "warning"], str]] = []
        for event in events:
            self.take(event)

    def take(self, event: Event) -> None:
        self.latest = max(self.latest, event.at)
        if event.kind in ("note", "warning"):  # they may come before the run itself
            self.remarks.append(("note" if event.kind == "note" else "warning", _told(event)))
            return
        self.began = event.at if self.began is None else self.began
        if event.kind == "run-started":
            self._start(event)
        elif event.kind == "run-finished":
            self.ended = event.at
            self.outcome = one_line(event.data.get("outcome", "done"))
            self.problem = one_line(event.text)
        else:
            self._step(event)

    @property
    def elapsed(self) -> float:
        return 0.0 if self.began is None else max((self.ended or self.latest) - self.began, 0.0)

    def by_subject(self) -> dict[str, list[StepSeen]]:
        """In the order of the plan, the cluster as a whole (an empty name) among them."""
        found: dict[str, list[StepSeen]] = {}
        for step in self.steps.values():
            found.setdefault(step.subject, []).append(step)
        return found

    def in_state(self, *states: State) -> list[StepSeen]:
        return [step for step in self.steps.values() if step.state in states]

    def unmet(self, step: StepSeen) -> list[StepSeen]:
        """What it still waits for, in the order of the plan."""
        return [one for one in (self.steps.get(key) for key in step.needs) if one is not None and one.state != "done"]

    def _start(self, event: Event) -> None:
        self.began = event.at
        self.operation = one_line(event.data.get("operation", ""))
        self.cluster = one_line(event.data.get("cluster", ""))
        for key, step in planned(event.data.get("plan")).items():
            seconds = step.get("expected_seconds")
            self.steps[key] = StepSeen(
                key,
                one_line(step.get("title") or key),
                one_line(step.get("subject") or ""),
                tuple(one_line(need) for need in step.get("needs") or ()),
                float(seconds) if isinstance(seconds, int | float) else None,
                stage=one_line(step.get("stage") or ""),
            )

    def _step(self, event: Event) -> None:
        key = one_line(event.step)
        step = self.steps.setdefault(key, StepSeen(key, key, one_line(event.subject)))
        text = one_line(event.text)
        if event.kind == "step-started":
            step.state, step.began = "running", event.at
        elif event.kind in ("step-progress", "step-retrying"):
            step.say(event.at, text, retry=event.kind == "step-retrying")
            step.phase = one_line(event.data.get("phase") or step.phase)
        elif event.kind == "step-done":
            step.state, step.ended = "done", event.at
            step.changed = bool(event.data.get("changed", True))
        elif event.kind == "step-failed":
            step.state, step.ended = "failed", event.at
            step.hint = one_line(event.data.get("hint", ""))
            step.say(event.at, text)
        elif event.kind == "step-skipped":
            step.state, step.ended = "skipped", event.at
            step.because = one_line(event.data.get("because", ""))
            if step.began is None:  # of one that was stopped, what it waited for is worth more
                step.say(event.at, text)


def planned(plan: Any) -> dict[str, Mapping[str, Any]]:
    """Steps by key, whether the plan was recorded as a mapping or, like a plan file, as a list."""
    steps = plan.get("steps", plan) if isinstance(plan, Mapping) else plan
    if isinstance(steps, Mapping):
        pairs = [(key, step) for key, step in steps.items() if isinstance(step, Mapping)]
    elif isinstance(steps, list | tuple):
        pairs = [(step.get("key", ""), step) for step in steps if isinstance(step, Mapping)]
    else:
        pairs = []
    return {one_line(key): step for key, step in pairs if key}


def _told(event: Event) -> str:
    about = f"{one_line(event.subject)}: " if event.subject else ""
    return about + one_line(event.text)
