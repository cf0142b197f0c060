"""A terminal of a few lines of Python: what is on its screen after all that was written to it."""

from __future__ import annotations

import io
import re

_PIECES = re.compile(r"\x1b\[(\?\d+[hl]|\d*A|2K|K|J|[\d;]*m)|\r|\n|[^\x1b\r\n]|\x1b")


class Screen(io.StringIO):
    """As wide as it is said to be; lines that left it at the top are kept, as in a terminal's history."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        super().__init__()
        self.columns, self.rows = columns, rows
        self.lines: list[list[str]] = [[]]
        self.x = self.y = 0
        self.wraps = True
        self.writes = 0

    def isatty(self) -> bool:
        return True

    def size(self) -> tuple[int, int]:
        return self.columns, self.rows

    def write(self, text: str) -> int:
        self.writes += 1
        for piece in _PIECES.finditer(text):
            self._take(piece[0], piece[1] or "")
        return len(text)

    def shown(self) -> list[str]:
        return ["".join(line).rstrip() for line in self.lines if "".join(line).strip()]

    def narrow(self, columns: int) -> None:
        """Like a terminal does it: lines that are too long now become several, and the cursor stays with its text."""
        wrapped: list[list[str]] = []
        for place, line in enumerate(self.lines):
            if place == self.y:
                self.y = len(wrapped)
            parts = [line[begin : begin + columns] for begin in range(0, len(line), columns)] or [[]]
            wrapped += parts
        self.lines, self.columns = wrapped, columns

    def _take(self, piece: str, code: str) -> None:
        top = max(len(self.lines) - self.rows, 0)
        if code.startswith("?7"):
            self.wraps = code.endswith("h")
        elif code.endswith("A"):
            self.y = max(self.y - int(code[:-1] or 1), top)
        elif code == "2K":
            self.lines[self.y] = []
        elif code == "K":
            del self.lines[self.y][self.x :]
        elif code == "J":
            del self.lines[self.y][self.x :]
            del self.lines[self.y + 1 :]
        elif code:
            return
        elif piece == "\r":
            self.x = 0
        elif piece == "\n":
            self.x, self.y = 0, self.y + 1
            if self.y == len(self.lines):
                self.lines.append([])
        else:
            self._put(piece)

    def _put(self, char: str) -> None:
        assert char != "\x1b", "an escape sequence that this screen does not know"
        if self.x >= self.columns:
            if not self.wraps:
                return
            self._take("\n", "")
        line = self.lines[self.y]
        line += " " * (self.x - len(line))
        line[self.x : self.x + 1] = char
        self.x += 1
