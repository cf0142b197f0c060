"""What a look before the start has found, as people read it."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith.providers.base import Finding
from talosmith.report.style import Style
from talosmith.report.words import one_line


def as_text(findings: Iterable[Finding], style: Style) -> str:
    return "\n".join(line for finding in findings for line in _lines(finding, style))


def waiting(finding: Finding) -> str:
    """That a machine does not answer yet: the cause that is known, and the two that are likely."""
    seen = one_line(finding.evidence or finding.cause)
    return f"{one_line(finding.check)}: {seen}; booting, or another run configures the machine: waiting"


def _lines(finding: Finding, style: Style) -> list[str]:
    mark = {"ok": style.green("✓"), "warning": style.yellow("!"), "error": style.red("✗")}[finding.level]
    said = "; ".join(one_line(part) for part in (finding.cause, finding.evidence) if part)
    lines = [f"{mark} {one_line(finding.check)}: {said}" if said else f"{mark} {one_line(finding.check)}"]
    if finding.fix and finding.level != "ok":
        lines.append(f"    {style.dim('fix:')} {one_line(finding.fix)}")
    return lines
