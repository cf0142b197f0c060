"""How a run ended: what is done, what failed and why, what is not done, and the command that resumes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from talosmith.report.follow import RunSeen, StepSeen
from talosmith.report.style import Style
from talosmith.report.text import count, duration, listed


def as_text(run: RunSeen, style: Style, *, again: str = "") -> str:
    """`again` is the command that resumes the run, such as `talosmith up`."""
    return "\n".join(_lines(run, style, again))


def as_data(run: RunSeen) -> dict[str, Any]:
    return {
        "operation": run.operation,
        "cluster": run.cluster,
        "outcome": run.outcome or "unfinished",
        "problem": run.problem,
        "seconds": round(run.elapsed, 3),
        "done": [step.key for step in run.in_state("done")],
        "failed": [
            {"key": step.key, "subject": step.subject, "title": step.title, "message": step.text, "fix": step.hint}
            for step in run.in_state("failed")
        ],
        "left": [
            {"key": step.key, "subject": step.subject, "title": step.title, "failed_step": step.because}
            for step in run.in_state("to come", "running", "skipped")
        ],
        "warnings": [text for kind, text in run.remarks if kind == "warning"],
    }


def _lines(run: RunSeen, style: Style, again: str) -> Iterator[str]:
    failed = run.in_state("failed")
    left = run.in_state("to come", "running", "skipped")
    yield _headline(run, style, len(failed), len(left))
    for step in failed:
        yield f"  {style.red('✗')} {style.bold(step.subject or 'cluster')}: {step.title}: {step.text or 'failed'}"
        if step.hint:
            yield f"      {style.dim('fix:')} {step.hint}"
        kept = [one for one in left if _root(run, one) == step.key]
        if kept:
            yield f"      {style.dim('skipped (depends on it):')} {listed([_name(one) for one in kept])}"
    orphans = [step for step in left if _root(run, step) not in {one.key for one in failed}]
    for step in orphans:
        if step.began is not None:
            last = f": {step.text}" if step.text else ""
            yield f"  {style.yellow('interrupted:')} {style.bold(step.subject or 'cluster')}: {step.title}{last}"
    waiting = [_name(step) for step in orphans if step.began is None]
    if waiting:
        yield f"  {style.yellow('not started:')} {listed(waiting)}"
    if again and (failed or left):
        yield f"  {style.dim('resume:')} {again}"


def _headline(run: RunSeen, style: Style, failed: int, left: int) -> str:
    done = run.in_state("done")
    unchanged = sum(not step.changed for step in done)
    parts = [f"{len(done)} of {count(len(run.steps), 'step')} done" if failed or left else _all(len(done))]
    if unchanged:
        parts[0] += f" ({unchanged} unchanged)"
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{left} not done"] if left else []
    what = f"{run.operation} {run.cluster}".strip()
    took = duration(run.elapsed)
    verdicts = {
        "done": style.green(f"✓ {what} done in {took}"),
        "failed": style.red(f"✗ {what} failed after {took}"),
        "stopped": style.yellow(f"■ {what} stopped after {took}"),
    }
    killed = style.yellow(f"? {what} did not finish (killed, or still running); last event after {took}")
    return f"{verdicts.get(run.outcome, killed)}: {', '.join(parts)}"


def _all(number: int) -> str:
    return "nothing to do" if number == 0 else f"{count(number, 'step')}"


def _root(run: RunSeen, step: StepSeen) -> str:
    """The failed step at the end of the chain of those that were skipped."""
    seen = {step.key}
    because = step.because
    while because in run.steps and because not in seen:
        seen.add(because)
        if run.steps[because].state == "failed":
            return because
        because = run.steps[because].because
    return ""


def _name(step: StepSeen) -> str:
    return f"{step.subject or 'cluster'} ({step.title})"
