"""Times, counts and foreign words as people read them.

Names and messages come from nodes, providers and files: what a terminal or a browser would act on, rather than show,
never reaches it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TextIO

from talosmith.foreign_text import escaped

_LONGEST = 2000


def one_line(text: object, longest: int = _LONGEST) -> str:
    """Fit to be shown: one line, control characters written out (`\\x1b`), not without end."""
    whole = str(text)[: longest + 1]  # a megabyte need not be looked through
    shown = escaped(" ".join(whole.split()))
    return shown if len(whole) <= longest else shown[:longest] + " …"


def duration(seconds: float) -> str:
    """`40 ms`, `0.4 s`, `12 s`, `1 min 40 s`, `2 h 5 min`."""
    seconds = max(seconds, 0.0)
    if seconds < 0.0005:
        return "0 s"
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
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


def local_time(at: float) -> str:
    """`2026-11-15 22:58`, in the time zone of the computer."""
    try:
        return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "unknown"


def rfc3339(at: float) -> str:
    """`2026-11-15T22:58:21Z`, for programs."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def terminal_width(stream: TextIO) -> int:
    """Columns of the terminal, or of COLUMNS; 0 where lines need not fit: a file or a pipe."""
    if not stream.isatty() and not os.environ.get("COLUMNS"):
        return 0
    return shutil.get_terminal_size((80, 24)).columns


def wrapped(text: str, width: int, indent: int) -> str:
    """Text in lines of at most `width` columns (0: one line), all but the first indented."""
    if not width or len(text) <= width:
        return text
    import textwrap

    lines = textwrap.wrap(text, max(width, 20), subsequent_indent=" " * indent, break_on_hyphens=False)
    return "\n".join(lines)


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """`a, b, c`, and with many `a, b, … and 195 more`."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
