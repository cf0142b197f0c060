"""Problems of an inventory as people read them: the place, the line with a mark under it, why, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from talosmith.errors import Problem
from talosmith.foreign_text import escaped, escaped_line
from talosmith.report.style import Style


def as_text(problems: Iterable[Problem], style: Style) -> str:
    return "\n".join(line for problem in problems for line in _lines(problem, style))


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
