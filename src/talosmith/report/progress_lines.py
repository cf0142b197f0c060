"""What a run looks like at one moment on a screen of a certain size: a line per node that has moved.

Failures stay, then come the cluster's own steps and the nodes that are busy; what there is no room for is counted.
Lines keep the order of the plan, so that nothing jumps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from talosmith.report.critical import expected_time
from talosmith.report.follow import RunSeen, StepSeen
from talosmith.report.words import duration, stopwatch

Look = Literal["", "bold", "dim", "red", "yellow", "green", "cyan"]
Line = list[tuple[Look, str]]  # a line in parts, each with its look
Mood = Literal["failed", "running", "waiting", "left", "done", "still"]

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_URGENCY: dict[Mood, int] = {"failed": 0, "running": 1, "waiting": 2, "left": 3, "done": 4, "still": 5}
_COUNTED: dict[Mood, str] = {
    "failed": "failed",
    "running": "running",
    "waiting": "waiting",
    "left": "left out",
    "done": "done",
    "still": "to come",
}
_BAR = 20
_LONGEST_NAME = 24


@dataclass(frozen=True, slots=True)
class Lane:
    """A node, or the cluster as a whole, and how it fares."""

    subject: str
    steps: Sequence[StepSeen]
    mood: Mood
    step: StepSeen | None  # the one to talk about
    since: float

    @property
    def name(self) -> str:
        return self.subject or "cluster"

    @property
    def urgency(self) -> tuple[int, bool, float]:
        """Who is shown first: the worst off, the cluster before nodes, the longest at it or the latest to end."""
        return (_URGENCY[self.mood], self.subject != "", -self.since if self.mood == "done" else self.since)


def picture(run: RunSeen, now: float, *, height: int, frame: int = 0) -> list[Line]:
    """At most `height` lines; how wide they may be is for the painter to see to."""
    lanes = [_lane(run, subject, steps, now) for subject, steps in run.by_subject().items()]
    moved = [lane for lane in lanes if lane.mood != "still"]
    room = max(height - 2, 1)  # the head, and the count of the rest
    if len(moved) == len(lanes) <= height - 1:
        room = len(lanes)
    shown = sorted(moved, key=lambda lane: lane.urgency)[:room]
    chosen = {lane.subject for lane in shown}
    width = _width(lanes)
    lines = [_head(run, now)]
    lines += [_line(run, lane, width, now, frame) for lane in lanes if lane.subject in chosen]
    rest = [lane for lane in lanes if lane.subject not in chosen]
    return lines + ([_rest(rest)] if rest and len(lines) < height else [])


def final_picture(run: RunSeen, *, most: int = 60) -> list[Line]:
    """What stays on the screen when the run is over: all nodes, or with very many those that are not well."""
    lanes = [_lane(run, subject, steps, run.latest) for subject, steps in run.by_subject().items()]
    shown = lanes if len(lanes) <= most else [lane for lane in lanes if lane.mood != "done"][:most]
    width = _width(shown)
    lines = [_line(run, lane, width, run.latest, None) for lane in shown]
    chosen = {lane.subject for lane in shown}
    rest = [lane for lane in lanes if lane.subject not in chosen]
    return lines + ([_rest(rest)] if rest else [])


def _width(lanes: Sequence[Lane]) -> int:
    return min(max((len(lane.name) for lane in lanes), default=0), _LONGEST_NAME)


def _lane(run: RunSeen, subject: str, steps: Sequence[StepSeen], now: float) -> Lane:
    def lane(mood: Mood, step: StepSeen | None, since: float | None) -> Lane:
        return Lane(subject, steps, mood, step, now if since is None else since)

    for step in steps:
        if step.state == "failed":
            return lane("failed", step, step.ended)
    running = [step for step in steps if step.state == "running"]
    if running:
        first = min(running, key=lambda step: step.began or now)
        return lane("running", first, first.began)
    ends = [step.ended for step in steps if step.ended is not None]
    coming = next((step for step in steps if step.state == "to come"), None)
    if coming is not None:
        return lane("waiting" if ends else "still", coming, max(ends, default=None))
    left = next((step for step in steps if step.state == "skipped"), None)
    return lane("done" if left is None else "left", left, max(ends, default=None))


def _head(run: RunSeen, now: float) -> Line:
    over = sum(step.over for step in run.steps.values())
    filled = round(_BAR * over / len(run.steps)) if run.steps else 0
    elapsed = now - (now if run.began is None else run.began)
    line: Line = [
        ("bold", f"{run.operation} {run.cluster}".strip()),
        ("", "  "),
        ("red" if run.in_state("failed") else "green", "━" * filled),
        ("dim", "─" * (_BAR - filled)),
        ("", f"  {over} of {len(run.steps)}  {stopwatch(elapsed)}"),
    ]
    remaining = _remaining(run, now)
    return [*line, ("dim", f"  about {duration(remaining)} left")] if remaining else line


def _remaining(run: RunSeen, now: float) -> float:
    """Seconds until all is done, 0 if that is not known."""
    if run.in_state("failed", "skipped"):
        return 0.0
    left = [
        (
            step.key,
            step.needs,
            None if step.expected is None else max(step.expected - (now - (step.began or now)), 0.0),
        )
        for step in run.in_state("to come", "running")
    ]
    seconds, known = expected_time(left)
    return round(seconds) if known else 0.0


def _line(run: RunSeen, lane: Lane, width: int, now: float, frame: int | None) -> Line:
    step = lane.step
    name = lane.name if len(lane.name) <= width else lane.name[: width - 1] + "…"
    since = None if frame is None else stopwatch(now - lane.since)
    still = None if frame is None else ""  # no clock, but where there are clocks its place
    if lane.mood == "done":
        took = lane.since - min((one.began for one in lane.steps if one.began is not None), default=lane.since)
        changed = any(one.changed for one in lane.steps)
        return _parts(
            "green", "✓", name, width, still, ("dim", f"done in {duration(took)}" if changed else "was so already")
        )
    if step is None:  # for the type checker: every other mood has a step
        return []
    if lane.mood == "failed":
        return _parts("red", "✗", name, width, still, ("red", step.title), ("", _said(step) or ": failed"))
    if lane.mood == "left":
        return _parts("yellow", "–", name, width, still, ("", f"left out: {step.title}"), ("dim", _said(step)))
    if lane.mood == "running":
        mark = "…" if frame is None else _SPINNER[frame % len(_SPINNER)]
        others = sum(one.state == "running" for one in lane.steps) - 1
        more: Line = [("dim", f" (+{others})")] if others else []
        tries = sum(saying.retry for saying in step.sayings)
        again: Line = [("yellow", f" (try {tries + 1})")] if tries else []
        return _parts("cyan", mark, name, width, since, ("", step.title), *more, *again, ("dim", _said(step)))
    unmet = run.unmet(step)
    if not unmet:
        return _parts("dim", "·", name, width, since, ("dim", f"next: {step.title}"))
    other = f" {unmet[0].subject}" if unmet[0].subject else ""
    return _parts("dim", "·", name, width, since, ("dim", f"waits for{other}: {unmet[0].title}"))


def _parts(look: Look, mark: str, name: str, width: int, since: str | None, *text: tuple[Look, str]) -> Line:
    clock: Line = [] if since is None else [("dim", f"{since:>5}  ")]
    return [("", "  "), (look, mark), ("", f" {name.ljust(width)}  "), *clock, *text]


def _said(step: StepSeen) -> str:
    """The last thing it said; its own name and address stand in front of the line already."""
    text = re.sub(rf"(?<!\S){re.escape(step.subject)}( \([^()]*\))?: ", "", step.text) if step.subject else step.text
    return f": {text}" if text else ""


def _rest(lanes: Sequence[Lane]) -> Line:
    counts = [(sum(lane.mood == mood for lane in lanes), words) for mood, words in _COUNTED.items()]
    told = ", ".join(f"{number} {words}" for number, words in counts if number)
    return [("dim", f"  … {len(lanes)} more: {told}")]
