"""Keeps some lines at the bottom of a terminal up to date in place.

A whole picture is one write, and terminals that can show it all at once: nothing blinks. Lines never wrap. When the
terminal has become narrower, its old lines have wrapped, and as many more are gone over. For that a line is cleared
before it is written, not after: terminals remember how far a line was once filled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TextIO

from talosmith.report.style import Line, Look, Style

_BEGIN, _END = "\x1b[?2026h\x1b[?7l", "\x1b[?7h\x1b[?2026l"  # show it all at once; do not wrap
_CLEAR = "\x1b[2K"

Size = Callable[[], tuple[int, int]]


class Painter:
    def __init__(self, stream: TextIO, size: Size | None = None) -> None:
        self.stream = stream
        self.size = size or (lambda: terminal_size(stream))
        self._style = Style(stream)
        self._painted: list[int] = []  # the width of each line that is there now

    def paint(self, lines: Iterable[Line], above: Iterable[Line] = ()) -> None:
        """Puts `lines` in the place of the last ones; `above` goes over them, to stay."""
        columns, _ = self.size()
        kept = [self._cropped(line, columns) for line in lines]
        staying = [self._style.line(line) for line in above]
        up = sum(max(-(-width // columns), 1) for width in self._painted)
        text = f"\x1b[{up}A\r" if up else "\r"
        wrapping = "".join(f"{_CLEAR}\x1b[?7h{line}\n\x1b[?7l" for line in staying)
        body = "".join(f"{_CLEAR}{line}\n" for line, _ in kept)
        self._painted = [width for _, width in kept]
        self.stream.write(f"{_BEGIN}{text}{wrapping}{body}\x1b[J{_END}")
        self.stream.flush()

    def _cropped(self, line: Line, columns: int) -> tuple[str, int]:
        """The line as it is written, and how many columns it takes; the last column stays free."""
        from rich.cells import cell_len, set_cell_size

        room = max(columns - 1, 1)
        if sum(cell_len(text) for _, text in line) <= room:
            return self._style.line(line), sum(cell_len(text) for _, text in line)
        shown: list[tuple[Look, str]] = []
        room -= 1  # for the mark that something is missing
        for look, text in line:
            fitting = text if cell_len(text) <= room else set_cell_size(text, room)
            shown.append((look, fitting))
            room -= cell_len(fitting)
            if room <= 0:
                break
        return self._style.line([*shown, ("dim", "…")]), max(columns - 1, 1)


def terminal_size(stream: TextIO) -> tuple[int, int]:
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return columns or 80, rows or 24


def can_move(stream: TextIO) -> bool:
    """Whether it is a terminal whose cursor can be moved."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
