"""Findings of preflight checks and of `doctor` as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from talosmith.providers.base import Area, Finding
from talosmith.report.style import Style
from talosmith.report.text import count, one_line


def as_text(findings: Iterable[Finding], style: Style) -> str:
    return "\n".join(line for finding in findings for line in _lines(finding, style))


def by_area(findings: Sequence[Finding], style: Style) -> str:
    """Grouped, from this computer to the cluster, and how many errors and warnings there are."""
    lines: list[str] = []
    for area in get_args(Area):
        group = [finding for finding in findings if finding.area == area]
        lines += (
            [style.bold(f"{area}:"), *(f"  {line}" for one in group for line in _lines(one, style))] if group else []
        )
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    counts = f"{count(errors, 'error')}, {count(warnings, 'warning')}"
    colour = style.red if errors else style.yellow if warnings else style.green
    return "\n".join([*lines, colour(counts if errors or warnings else "no errors, no warnings")])


def waiting(finding: Finding) -> str:
    """A machine that does not answer yet, with the known cause and the two likely ones."""
    seen = one_line(finding.evidence or finding.cause)
    return f"{one_line(finding.check)}: {seen}; booting, or being configured by another run: waiting"


def _lines(finding: Finding, style: Style) -> list[str]:
    marks = {"ok": style.green("✓"), "note": "-", "warning": style.yellow("!"), "error": style.red("✗")}
    mark = marks[finding.level]
    detail = "; ".join(one_line(part) for part in (finding.cause, finding.evidence) if part)
    lines = [f"{mark} {one_line(finding.check)}: {detail}" if detail else f"{mark} {one_line(finding.check)}"]
    if finding.fix and finding.level != "ok":
        first, *commands = finding.fix.splitlines()
        lines += [f"    {style.dim('fix:')} {one_line(first)}", *(f"      {one_line(one)}" for one in commands)]
    return lines
