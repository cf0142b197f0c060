"""Problems of an inventory as people read them: the place, the line with a mark under it, why, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from talosmith.errors import Problem
from talosmith.foreign_text import escaped, escaped_line
from talosmith.report.style import Style


def as_text(problems: Iterable[Problem], style: Style) -> str:
    return "\n".join(line for problem in problems for line in _lines(problem, style))


def as_lines(problems: Iterable[Problem], style: Style) -> str:
    """One line for each, with its place and reason: for commands that have more to show than the inventory."""
    lines = []
    for problem in problems:
        reason = f" ({problem.why})" if problem.why else ""
        place = f"{problem.place}: " if problem.file else ""
        lines.append(f"{style.yellow(problem.severity + ':')} {escaped_line(f'{place}{problem.what}{reason}')}")
    return "\n".join(lines)


def as_data(problem: Problem) -> dict[str, Any]:
    """A problem as an object; without a place, line and column are null."""
    return {
        "severity": problem.severity,
        "message": problem.what,
        "reason": problem.why,
        "fix": problem.fix,
        "file": problem.file,
        "line": problem.line or None,
        "column": problem.column or None,
        "source": problem.source,
    }


def summary(problems: Iterable[Problem]) -> str:
    """`2 errors, 1 warning`, or nothing."""
    severities = [problem.severity for problem in problems]
    counts = [(severities.count(severity), severity) for severity in ("error", "warning", "note")]
    return ", ".join(f"{count} {severity}{'s' if count > 1 else ''}" for count, severity in counts if count)


def _lines(problem: Problem, style: Style) -> Iterator[str]:
    colour = {"error": style.red, "warning": style.yellow, "note": style.cyan}[problem.severity]
    place = style.bold(f"{escaped_line(problem.place)}:") + " " if problem.file else ""
    yield f"{place}{colour(problem.severity + ':')} {escaped_line(problem.what)}"
    if problem.source:
        number = str(problem.line)
        yield style.dim(f"  {number} | ") + escaped(problem.source)
        if problem.column <= len(problem.source) + 1:
            yield style.dim(f"  {' ' * len(number)} | ") + " " * (problem.column - 1) + colour("^")
    if problem.why:
        yield f"  {style.dim('why:')} {escaped_line(problem.why)}"
    if problem.fix:
        yield f"  {style.dim('fix:')} {escaped_line(problem.fix)}"
