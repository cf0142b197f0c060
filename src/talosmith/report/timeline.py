"""When each step of a run started, waited and ended, and the critical path.

Made from recorded events alone: any run can be shown later, also one that was killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from talosmith.events import Event
from talosmith.report.critical import critical_path
from talosmith.report.follow import RunSeen, StepSeen
from talosmith.report.style import Style
from talosmith.report.text import count, duration, stopwatch, wrapped

_TIMES = 16  # columns for the duration of a step and the gaps between columns
_SHORTEST_CHART = 20

Fate = Literal["done", "failed", "skipped", "unfinished"]


@dataclass(frozen=True, slots=True)
class Wait:
    """A stretch of a step with the same reason for waiting. Times are seconds since the start of the run."""

    begin: float
    end: float
    text: str
    retry: bool = False

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    key: str
    title: str
    subject: str
    begin: float
    end: float
    fate: Fate
    text: str = ""
    changed: bool = True
    critical: bool = False
    ready: float = 0.0  # when all steps that it needs were done
    waits: tuple[Wait, ...] = ()

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    operation: str
    cluster: str
    began: float  # since the epoch
    seconds: float
    outcome: str
    bars: tuple[Bar, ...]  # steps of the cluster, then of each node in the order of the plan; by start time
    path: tuple[str, ...]  # keys of the critical path
    not_started: tuple[str, ...] = ()

    @property
    def lanes(self) -> dict[str, list[Bar]]:
        found: dict[str, list[Bar]] = {}
        for bar in self.bars:
            found.setdefault(bar.subject, []).append(bar)
        return found

    @property
    def path_seconds(self) -> float:
        return sum(bar.seconds for bar in self.bars if bar.critical)

    def longest_waits(self, most: int = 5) -> list[tuple[Bar, Wait]]:
        waits = [(bar, wait) for bar in self.bars for wait in bar.waits if wait.text]
        return sorted(waits, key=lambda pair: (-pair[1].seconds, pair[0].key))[:most]

    def as_data(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 3),
            "critical_path": list(self.path),
            "steps": [_bar_data(bar) for bar in self.bars],
            "not_started": list(self.not_started),
        }


def timeline(events: Iterable[Event], *, outcome: str = "") -> Timeline:
    """`outcome`: of a run whose end is not recorded, such as `running` or `killed`."""
    run = RunSeen(events)
    zero = run.began or 0.0
    path = critical_path(run.steps, run.latest)
    critical = set(path)
    bars = [
        _bar(run, step, zero, step.key in critical)
        for _, steps in sorted(run.by_subject().items(), key=lambda pair: pair[0] != "")
        for step in sorted(steps, key=lambda one: one.began or 0.0)
        if step.began is not None
    ]
    return Timeline(
        operation=run.operation,
        cluster=run.cluster,
        began=zero,
        seconds=run.elapsed,
        outcome=run.outcome or outcome or "unfinished",
        bars=tuple(bars),
        path=tuple(path),
        not_started=tuple(step.key for step in run.steps.values() if step.began is None),
    )


def as_text(found: Timeline, style: Style, width: int = 100) -> str:
    """A chart of `width` columns."""
    return "\n".join(_lines(found, style, width))


def _bar(run: RunSeen, step: StepSeen, zero: float, critical: bool) -> Bar:
    begin = step.began if step.began is not None else zero
    end = max(run.latest if step.ended is None else step.ended, begin)
    fates: dict[str, Fate] = {"done": "done", "failed": "failed", "skipped": "skipped"}
    needed = [one.ended for one in (run.steps.get(key) for key in step.needs) if one is not None and one.ended]
    return Bar(
        key=step.key,
        title=step.title,
        subject=step.subject,
        begin=begin - zero,
        end=end - zero,
        fate=fates.get(step.state, "unfinished"),
        text=step.text,
        changed=step.changed,
        critical=critical,
        ready=max((min(one, begin) for one in needed), default=zero) - zero,
        waits=tuple(_waits(step, end, zero)),
    )


def _waits(step: StepSeen, end: float, zero: float) -> Iterator[Wait]:
    for number, saying in enumerate(step.sayings):
        until = step.sayings[number + 1].at if number + 1 < len(step.sayings) else end
        if until > saying.at:
            yield Wait(saying.at - zero, until - zero, saying.text, saying.retry)


def _bar_data(bar: Bar) -> dict[str, Any]:
    return {
        "key": bar.key,
        "title": bar.title,
        "subject": bar.subject,
        "begin": round(bar.begin, 3),
        "end": round(bar.end, 3),
        "outcome": bar.fate,
        "critical": bar.critical,
        "waits": [{"begin": round(one.begin, 3), "end": round(one.end, 3), "text": one.text} for one in bar.waits],
    }


def _lines(found: Timeline, style: Style, width: int) -> Iterator[str]:
    yield style.bold(wrapped(headline(found), width, 2))
    if not found.bars:
        yield "no step was started"
        return
    names = max(len(bar.subject or "cluster") for bar in found.bars)
    room = width - names - _TIMES  # for titles and bars; titles are read, bars are only looked at
    titles = min(max(len(bar.title) for bar in found.bars), max(room - _SHORTEST_CHART, 10))
    columns = max(room - titles, _SHORTEST_CHART)
    scale = columns / found.seconds if found.seconds > 0 else 0.0
    yield ""
    yield style.dim(" " * (names + titles + 4) + _ruler(found.seconds, columns))
    for subject, bars in found.lanes.items():
        for number, bar in enumerate(bars):
            name = (subject or "cluster") if number == 0 else ""
            title = bar.title if len(bar.title) <= titles else bar.title[: titles - 1] + "…"
            drawn = _drawn(bar, scale, columns, style)
            yield f"{style.bold(name.ljust(names))}  {title.ljust(titles)}  {drawn} {_took(bar, style)}"
    yield ""
    yield style.dim("█ critical path  ▓ working  ▒ waiting  · ready, not started")
    yield from _notes(found, style, width)


def headline(found: Timeline) -> str:
    what = f"{found.operation} {found.cluster}".strip()
    share = f" ({found.path_seconds / found.seconds:.0%})" if found.seconds > 0 and found.path else ""
    path = f", critical path {duration(found.path_seconds)}{share}" if found.path else ""
    return f"{what}: {found.outcome} after {duration(found.seconds)}, {count(len(found.bars), 'step')}{path}"


def _ruler(seconds: float, columns: int) -> str:
    """A time at each quarter of the chart."""
    line = [" "] * (columns + 8)
    for quarter in range(5):
        at = round(quarter * columns / 4)
        time = quarter * seconds / 4
        for offset, char in enumerate(stopwatch(time) if seconds >= 20 else f"{time:.1f} s"):
            line[min(at + offset, len(line) - 1)] = char
    return "".join(line).rstrip()


def _drawn(bar: Bar, scale: float, columns: int, style: Style) -> str:
    cells = [" "] * columns

    def fill(begin: float, end: float, char: str) -> None:
        first = min(int(begin * scale), columns - 1)
        last = min(max(round(end * scale), first + 1), columns)
        cells[first:last] = char * (last - first)

    if bar.begin - bar.ready > 0.05 * max(bar.end, 1.0):
        fill(bar.ready, bar.begin, "·")
    fill(bar.begin, bar.end, "█" if bar.critical else "▓")
    if not bar.critical:
        for wait in bar.waits:
            fill(wait.begin, wait.end, "▒")
    colour = style.red if bar.fate == "failed" else style.yellow if bar.critical else style.cyan
    return colour("".join(cells))


def _took(bar: Bar, style: Style) -> str:
    took = f"{duration(bar.seconds):>8}"
    if bar.fate == "failed":
        return style.red(f"{took} ✗")
    if bar.fate == "done":
        return took if bar.changed else style.dim(took)
    return style.yellow(f"{took} {'–' if bar.fate == 'skipped' else '?'}")


def _notes(found: Timeline, style: Style, width: int) -> Iterator[str]:
    waits = found.longest_waits()
    if waits:
        yield ""
        yield style.bold("longest waits")
        for bar, wait in waits:
            line = f"  {duration(wait.seconds):>10}  {bar.subject or 'cluster'}: {bar.title}: {wait.text}"
            yield wrapped(line, width, 14)
    for bar in found.bars:
        if bar.fate == "failed":
            line = wrapped(f"✗ {bar.subject or 'cluster'}: {bar.title}: {bar.text}", width, 2)
            yield style.red(line[0]) + line[1:]
    if found.not_started:
        yield style.yellow(f"not started: {count(len(found.not_started), 'step')}")
