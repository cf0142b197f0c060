"""Bold, dim and four colours, and none of them where the stream shows no colours; nothing else reaches a terminal."""

from __future__ import annotations

import os
import re
from typing import Literal, TextIO

from talosmith.foreign_text import escaped

Look = Literal["", "bold", "dim", "red", "yellow", "green", "cyan"]
Line = list[tuple[Look, str]]  # a line in parts, each with its look

_MARKS = re.compile(r"(\x1b\[(?:0|1|2|1;31|33|32|36)m)")


class Style:
    """Marks text for one stream: a terminal that takes colours, unless NO_COLOR is set."""

    def __init__(self, stream: TextIO) -> None:
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.enabled = stream.isatty() and not plain

    def fit(self, text: str) -> str:
        """Text as the stream gets it: our marks stay, anything else that a terminal acts on is written out."""
        if not self.enabled:
            return escaped(text)
        parts = _MARKS.split(text)  # every second one is a mark
        return "".join(part if index % 2 else escaped(part) for index, part in enumerate(parts))

    def line(self, line: Line) -> str:
        return "".join(getattr(self, look)(text) if look else text for look, text in line)

    def _mark(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.enabled and text else text

    def bold(self, text: str) -> str:
        return self._mark("1", text)

    def dim(self, text: str) -> str:
        return self._mark("2", text)

    def red(self, text: str) -> str:
        return self._mark("1;31", text)

    def yellow(self, text: str) -> str:
        return self._mark("33", text)

    def green(self, text: str) -> str:
        return self._mark("32", text)

    def cyan(self, text: str) -> str:
        return self._mark("36", text)


def wrapped(text: str, width: int | None) -> list[str]:
    """A line as lines of at most `width` columns, continued two columns further in. Nothing is cut, no word is split.

    Marks take no columns. Without a width the line stays whole.
    """
    if width is None or _columns(text) <= width:
        return [text]
    indent = " " * (len(text) - len(text.lstrip(" ")) + 2)
    lines: list[str] = []
    current = text[: len(indent) - 2]
    for word in text.split():
        joined = f"{current} {word}" if current.strip() else current + word
        if current.strip() and _columns(joined) > width:
            lines.append(current)
            current = indent + word
        else:
            current = joined
    return [*lines, current]


def _columns(text: str) -> int:
    return len(_MARKS.sub("", text))
