"""Bold, dim and four colours, and none of them where nobody sees colours."""

from __future__ import annotations

import os
from typing import TextIO


class Style:
    """Marks text for one stream: a terminal that takes colours, unless NO_COLOR is set."""

    def __init__(self, stream: TextIO) -> None:
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.enabled = stream.isatty() and not plain

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
