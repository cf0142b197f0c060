"""A run as plain lines, one for each event: for CI, pipes and terminals that cannot move the cursor.

A step that takes longer is printed with its node's phase and the reason, again when the reason changes (but not every
second), and again once in a while: a silent run looks like a hung one. A step reports a reason once, when it is new;
so between events a thread prints the reasons that came too early, and repeats those that last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from talosmith.events import Event
from talosmith.report.follow import RunSeen, StepSeen
from talosmith.report.phases import phase_text
from talosmith.report.progress_lines import reason_of
from talosmith.report.style import Style
from talosmith.report.text import count, duration, moment, one_line, stopwatch

_FIRST_REASON_AFTER = 2.0  # seconds from the begin of a step: a short wait is not worth a line
_NEW_REASON_AFTER = 5.0  # seconds between two reasons of the same step
_SAME_REASON_AFTER = 30.0
_REPEATED = 10  # steps at most whose unchanged reason is repeated: with very many, the rest adds nothing
_LOOK = 1.0


class PlainLines:
    """A listener, and a context manager that runs the thread. If the stream is closed, the run goes on."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.time) -> None:
        self.stream = stream
        self.clock = clock
        self.style = Style(stream)
        self.run = RunSeen()
        self._told: dict[str, tuple[float, str]] = {}
        self._broken = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="plain-lines", daemon=True)

    def __enter__(self) -> PlainLines:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self.run.take(event)
            self._write(event.at, self._line(event))

    def remind(self) -> None:
        """Print what running steps wait for, where it is time to."""
        with self._lock:
            repeated = 0
            for step in self.run.in_state("running"):
                again = step.key in self._told and self._told[step.key][1] == step.text
                if again and repeated == _REPEATED:
                    continue
                line = self._waits(self.clock(), step, _about(step))
                repeated += bool(line) and again
                self._write(self.clock(), line)

    def _go_on(self) -> None:
        while not self._over.wait(_LOOK):
            self.remind()

    def _write(self, at: float, line: str) -> None:
        if not line or self._broken:
            return
        try:
            self.stream.write(f"{stopwatch(at - (self.run.began or at)):>5}  {line}\n")
            self.stream.flush()
        except (OSError, ValueError):  # gone, or closed
            self._broken = True

    def _line(self, event: Event) -> str:
        style = self.style
        if event.kind == "run-started":
            steps = count(len(self.run.steps), "step")
            return style.bold(f"{self.run.operation} {self.run.cluster}: {steps}, started {moment(event.at)}")
        if event.kind == "run-finished":
            return self._finished()
        if event.kind in ("note", "warning"):
            mark = style.yellow("warning:") if event.kind == "warning" else style.cyan("note:")
            return f"{mark} {self.run.remarks[-1][1]}"
        step = self.run.steps[one_line(event.step)]
        about = _about(step)
        if event.kind in ("step-started", "step-progress"):
            return self._waits(event.at, step, about)
        if event.kind == "step-retrying":
            wait = event.data.get("wait")
            again = f", retrying in {duration(wait)}" if isinstance(wait, int | float) else ", retrying"
            self._told[step.key] = (event.at, step.text)
            return f"{style.yellow('↻')} {about}: {one_line(event.text)}{again}"
        if event.kind == "step-done":
            took = f" in {duration(step.ended - step.began)}" if step.ended and step.began else ""
            return f"{style.green('✓')} {about}: " + (f"done{took}" if step.changed else "unchanged")
        if event.kind == "step-failed":
            hint = f"; fix: {step.hint}" if step.hint else ""
            return f"{style.red('✗')} {about}: {style.red('failed')}: {one_line(event.text)}{hint}"
        return f"{style.dim('-')} {about}: skipped: {one_line(event.text)}"

    def _waits(self, at: float, step: StepSeen, about: str) -> str:
        if at - (at if step.began is None else step.began) < _FIRST_REASON_AFTER:
            return ""
        when, what = self._told.get(step.key, (float("-inf"), None))
        is_same = what == step.text
        if at - when < (_SAME_REASON_AFTER if is_same else _NEW_REASON_AFTER):
            return ""
        self._told[step.key] = (at, step.text)
        steps = self.run.by_subject()[step.subject] if step.subject else ()
        state = phase_text(steps) or ("waiting" if is_same else "")
        text = ": ".join(filter(None, (f"still {state}" if is_same else state, reason_of(step))))
        return f"{about}: {text}" if text else f"{about} …"

    def _finished(self) -> str:
        done, failed = len(self.run.in_state("done")), len(self.run.in_state("failed"))
        left = len(self.run.steps) - done - failed
        colour = {"done": self.style.green, "failed": self.style.red}.get(self.run.outcome, self.style.yellow)
        counts = f"{count(done, 'step')} done" + (f", {failed} failed" if failed else "")
        counts += f", {left} not done" if left else ""
        return f"{colour(self.run.outcome)} after {duration(self.run.elapsed)}: {counts}"


def _about(step: StepSeen) -> str:
    return f"{step.subject or 'cluster'}: {step.title}"
