"""A run as plain lines, one for each thing worth telling: for CI, pipes and terminals that cannot move the cursor.

Waits are told when they begin, when their reason changes (but not every second), and again once in a while, so that
nobody who watches takes patience for death.
"""

from __future__ import annotations

from typing import TextIO

from talosmith.events import Event
from talosmith.report.follow import RunSeen, StepSeen
from talosmith.report.style import Style
from talosmith.report.words import count, duration, moment, one_line, stopwatch

_NEW_REASON_AFTER = 5.0  # seconds between two reasons of the same step
_SAME_REASON_AFTER = 30.0


class PlainLines:
    """A listener. If nobody reads any more, the run goes on."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.style = Style(stream)
        self.run = RunSeen()
        self._told: dict[str, tuple[float, str]] = {}
        self._broken = False

    def __call__(self, event: Event) -> None:
        self.run.take(event)
        line = self._line(event)
        if not line or self._broken:
            return
        try:
            self.stream.write(f"{stopwatch(event.at - (self.run.began or event.at)):>5}  {line}\n")
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
        about = f"{step.subject or 'cluster'}: {step.title}"
        if event.kind == "step-started":
            return f"{about} …"
        if event.kind == "step-progress":
            return self._waits(event.at, step, about)
        if event.kind == "step-retrying":
            wait = event.data.get("wait")
            again = f", again in {duration(wait)}" if isinstance(wait, int | float) else ", trying again"
            return f"{style.yellow('↻')} {about}: {one_line(event.text)}{again}"
        if event.kind == "step-done":
            took = f" in {duration(step.ended - step.began)}" if step.ended and step.began else ""
            return f"{style.green('✓')} {about}: " + (f"done{took}" if step.changed else "was so already")
        if event.kind == "step-failed":
            hint = f"; fix: {step.hint}" if step.hint else ""
            return f"{style.red('✗')} {about}: {style.red('failed')}: {one_line(event.text)}{hint}"
        return f"{style.dim('-')} {about}: left out: {one_line(event.text)}"

    def _waits(self, at: float, step: StepSeen, about: str) -> str:
        when, what = self._told.get(step.key, (float("-inf"), ""))
        if not step.text or at - when < (_SAME_REASON_AFTER if what == step.text else _NEW_REASON_AFTER):
            return ""
        self._told[step.key] = (at, step.text)
        return f"{about}: {'still ' if what == step.text else ''}{step.text}"

    def _finished(self) -> str:
        done, failed = len(self.run.in_state("done")), len(self.run.in_state("failed"))
        left = len(self.run.steps) - done - failed
        colour = {"done": self.style.green, "failed": self.style.red}.get(self.run.outcome, self.style.yellow)
        counts = f"{count(done, 'step')} done" + (f", {failed} failed" if failed else "")
        counts += f", {left} left" if left else ""
        return f"{colour(self.run.outcome)} after {duration(self.run.elapsed)}: {counts}"
