"""Times, counts and foreign words as people read them.

Names and messages come from nodes, providers and files: what a terminal or a browser would act on, rather than show,
never reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from talosmith.foreign_text import escaped

_LONGEST = 2000


def one_line(text: object, longest: int = _LONGEST) -> str:
    """Fit to be shown: one line, control characters written out (`\\x1b`), not without end."""
    whole = str(text)[: longest + 1]  # a megabyte need not be looked through
    shown = escaped(" ".join(whole.split()))
    return shown if len(whole) <= longest else shown[:longest] + " …"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `1 min 40 s`, `2 h 5 min`."""
    seconds = max(seconds, 0.0)
    if seconds < 9.95:
        tenths = f"{seconds:.1f}"
        return "0 s" if tenths == "0.0" else f"{tenths.removesuffix('.0')} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h" + (f" {minutes} min" if minutes else "")


def stopwatch(seconds: float) -> str:
    """`0:04`, `1:40`, `1:02:03`: for columns and places that change all the time."""
    minutes, rest = divmod(int(max(seconds, 0.0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def moment(at: float) -> str:
    """`2026-11-15 22:58:21 UTC`"""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return "at an unknown time"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """`a, b, c`, and with many `a, b, … and 195 more`."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
