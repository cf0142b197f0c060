"""What a run looks like at one moment on a screen of a certain size: a line per node, with its phase and the reason.

Failures stay, then come the cluster's own steps and the nodes that are busy; what there is no room for is counted.
Lines keep the order of the plan, so that nothing jumps. The reason of a wait or a failure is always whole: the title
of its step gives way first, then the reason takes several lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from talosmith.observed.status import without_name
from talosmith.report.critical import expected_time
from talosmith.report.default_times import default_time, pace
from talosmith.report.follow import RunSeen, StepSeen
from talosmith.report.phases import phase_text
from talosmith.report.style import Line, Look
from talosmith.report.text import duration, stopwatch

Mood = Literal["failed", "running", "waiting", "skipped", "done", "still"]

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_URGENCY: dict[Mood, int] = {"failed": 0, "running": 1, "waiting": 2, "skipped": 3, "done": 4, "still": 5}
_COUNTED: dict[Mood, str] = {
    "failed": "failed",
    "running": "running",
    "waiting": "waiting",
    "skipped": "skipped",
    "done": "done",
    "still": "to come",
}
_LONGEST_NAME = 24
_LEAST_ROOM = 24  # columns for a reason beside its node; where there is less, it stands below
_WAITING = "waiting for "
_OVERDUE = 3.0  # times its expected time (and seconds): then an estimate would mislead


@dataclass(frozen=True, slots=True)
class Lane:
    """A node, or the cluster as a whole, and its steps."""

    subject: str
    steps: Sequence[StepSeen]
    mood: Mood
    step: StepSeen | None  # the one that is shown
    since: float

    @property
    def name(self) -> str:
        return self.subject or "cluster"

    @property
    def phase(self) -> str:
        return phase_text(self.steps) if self.subject else ""

    @property
    def urgency(self) -> tuple[int, bool, float]:
        """What is shown first: failures, the cluster before nodes, the longest wait or the latest end."""
        return (_URGENCY[self.mood], self.subject != "", -self.since if self.mood == "done" else self.since)


@dataclass(frozen=True, slots=True)
class Columns:
    """How wide names and phases are, and the screen; `clocks`: there is a column of clocks."""

    name: int
    phase: int
    width: int
    clocks: bool = True


def picture(
    run: RunSeen, now: float, *, height: int, width: int = 80, frame: int = 0, simulated: bool = False
) -> list[Line]:
    """At most `height` lines of less than `width` columns."""
    lanes = [_lane(run, subject, steps, now) for subject, steps in run.by_subject().items()]
    moved = [lane for lane in lanes if lane.mood != "still"]
    columns = _columns(lanes, width)
    room = max(height - 2, 1)  # the head, and the count of the rest
    shown: dict[str, list[Line]] = {}
    for lane in sorted(moved, key=lambda lane: lane.urgency):
        found = _lines(run, lane, columns, now, frame)
        left = room - sum(map(len, shown.values()))
        if len(found) > left and (shown or not left):
            break
        shown[lane.subject] = found if len(found) <= left else [*found[: left - 1], [*found[left - 1], ("dim", " …")]]
    lines = [_head(run, now, simulated)]
    lines += [line for lane in lanes for line in shown.get(lane.subject, ())]
    rest = [lane for lane in lanes if lane.subject not in shown]
    return lines + ([_rest(rest)] if rest and len(lines) < height else [])


def final_picture(run: RunSeen, *, most: int = 60) -> list[Line]:
    """What stays on the screen when the run is over: all nodes, or with very many those that are not done."""
    lanes = [_lane(run, subject, steps, run.latest) for subject, steps in run.by_subject().items()]
    shown = lanes if len(lanes) <= most else [lane for lane in lanes if lane.mood != "done"][:most]
    columns = _columns(shown, 0)
    lines = [line for lane in shown for line in _lines(run, lane, columns, run.latest, None)]
    chosen = {lane.subject for lane in shown}
    rest = [lane for lane in lanes if lane.subject not in chosen]
    return lines + ([_rest(rest)] if rest else [])


def _columns(lanes: Sequence[Lane], width: int) -> Columns:
    """`width` 0: lines are as long as they are, and the terminal wraps them."""
    name = min(max((len(lane.name) for lane in lanes), default=0), _LONGEST_NAME)
    return Columns(name, max((len(lane.phase) for lane in lanes), default=0), width, clocks=width > 0)


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
    return lane("done" if left is None else "skipped", left, max(ends, default=None))


def _head(run: RunSeen, now: float, simulated: bool) -> Line:
    over = sum(step.over for step in run.steps.values())
    elapsed = now - (now if run.began is None else run.began)
    failed = len(run.in_state("failed"))
    line: Line = [
        ("bold", f"{run.operation} {run.cluster}".strip()),
        ("", f"  {over} of {len(run.steps)} steps"),
        ("red", f", {failed} failed" if failed else ""),
        ("", f"  {stopwatch(elapsed)}"),
    ]
    return [*line, ("dim", _remaining(run, now, simulated))]


def _remaining(run: RunSeen, now: float, simulated: bool) -> str:
    """How long until all is done: by earlier runs, else by defaults; empty once a step has failed."""
    if run.in_state("failed", "skipped"):
        return ""
    share = pace((step for step in run.steps.values() if step.expected is None), simulated=simulated)
    left = []
    for step in run.in_state("to come", "running"):
        whole = default_time(step, simulated=simulated) * share if step.expected is None else step.expected
        lasted = now - (now if step.began is None else step.began)
        if lasted > _OVERDUE * whole + _OVERDUE:
            return "  takes longer than expected"
        left.append((step.key, step.needs, max(whole - lasted, 0.0)))
    seconds = round(expected_time(left)[0])
    return f"  about {duration(seconds)} left" if seconds else ""


def _lines(run: RunSeen, lane: Lane, columns: Columns, now: float, frame: int | None) -> list[Line]:
    step = lane.step
    since = stopwatch(now - lane.since)
    if lane.mood == "done":
        took = lane.since - min((one.began for one in lane.steps if one.began is not None), default=lane.since)
        changed = any(one.changed for one in lane.steps)
        return _laid_out(
            lane, columns, ("green", "✓"), "", ("dim", f"done in {duration(took)}" if changed else "unchanged")
        )
    if step is None:  # for the type checker: every other mood has a step
        return []
    if lane.mood == "failed":
        return _laid_out(lane, columns, ("red", "✗"), "", ("red", step.title), ("", reason_of(step) or "failed"))
    if lane.mood == "skipped":
        return _laid_out(lane, columns, ("yellow", "–"), "", ("", f"skipped: {step.title}"), ("dim", reason_of(step)))
    if lane.mood == "running":
        mark = "…" if frame is None else _SPINNER[frame % len(_SPINNER)]
        others = sum(one.state == "running" for one in lane.steps) - 1
        tries = sum(saying.retry for saying in step.sayings)
        title = step.title + (f" (+{others})" if others else "") + (f" (attempt {tries + 1})" if tries else "")
        return _laid_out(lane, columns, ("cyan", mark), since, ("", title), ("dim", reason_of(step)))
    unmet = run.unmet(step)
    after = f"waiting on {unmet[0].subject or 'cluster'}: {unmet[0].title}" if unmet else f"next: {step.title}"
    return _laid_out(lane, columns, ("dim", "·"), since, ("dim", after))


def _laid_out(
    lane: Lane,
    columns: Columns,
    mark: tuple[Look, str],
    since: str,
    title: tuple[Look, str],
    reason: tuple[Look, str] = ("", ""),
) -> list[Line]:
    """The lines of a node: title and reason if there is room, else the reason alone, on as many lines as it takes."""
    from rich.cells import cell_len

    name = lane.name if len(lane.name) <= columns.name else lane.name[: columns.name - 1] + "…"
    phase = lane.phase
    front: Line = [("", "  "), mark, ("", f" {name.ljust(columns.name)}  ")]
    front += [("dim", f"{since:>5}  ")] if columns.clocks else []
    front += [(_phase_look(lane.mood), f"{phase.ljust(columns.phase)}  ")] if phase else []
    whole: Line = [title, ("", ": "), reason] if reason[1] else [title]
    taken = sum(cell_len(text) for _, text in front)
    room = columns.width - 1 - taken
    if not columns.width or sum(cell_len(text) for _, text in whole) <= room:
        return [[*front, *whole]]
    look, text = reason if reason[1] else title
    if room >= _LEAST_ROOM:
        first, *rest = _wrapped(text, room)
        return [[*front, (look, first)], *([("", " " * taken), (look, one)] for one in rest)]
    below = max(columns.width - 5, 8)
    return [front, *([("", "    "), (look, one)] for one in _wrapped(text, below))]


def _phase_look(mood: Mood) -> Look:
    return {"failed": "red", "done": "green", "running": "cyan"}.get(mood, "dim")  # type: ignore[return-value]


def _wrapped(text: str, room: int) -> list[str]:
    """Lines of at most `room` columns, broken between words where that is possible; wide letters count as two."""
    from rich.cells import cell_len, chop_cells

    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines += chop_cells(word, room)
    return lines or [""]


def reason_of(step: StepSeen) -> str:
    """What the step said last, without what the line says already: its node, and that it waits."""
    text = without_name(step.text, step.subject) if step.subject else step.text
    what, separator, cause = text.partition(": ")
    return cause if separator and what.startswith(_WAITING) else text


def _rest(lanes: Sequence[Lane]) -> Line:
    counts = [(sum(lane.mood == mood for lane in lanes), words) for mood, words in _COUNTED.items()]
    counted = ", ".join(f"{number} {words}" for number, words in counts if number)
    return [("dim", f"  … {len(lanes)} more: {counted}")]
