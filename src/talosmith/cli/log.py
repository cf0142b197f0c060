"""Messages on stderr as `--verbose` and `--log-format json` want them.

The stream is replaced, not each message: what is printed by libraries, prompts and tracebacks is covered, too. It is
no terminal, so there are no colours and no live view that debug lines would tear apart.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO, cast

from talosmith.call_log import LOGGER
from talosmith.foreign_text import cleaned

_MARKS = re.compile(r"\x1b\[[0-9;]*m")
_LEVEL = re.compile(r"\s*((?:\S+: )?)(error|warning|debug|note): ")  # a place in a file may come first


class LogStream:
    """stderr without a terminal; with `as_json` every message is one JSON object on one line."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self._stream = stream
        self._as_json = as_json
        self._pending = ""

    def write(self, text: str) -> int:
        if not self._as_json:
            return self._stream.write(text)
        self._pending += text
        if self._pending.endswith("\n"):
            self._print()
        return len(text)

    def flush(self) -> None:
        if self._pending.strip():  # a prompt: it has no line break
            self._print()
        self._stream.flush()

    def isatty(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _print(self) -> None:
        text, self._pending = _MARKS.sub("", self._pending).strip("\n"), ""
        if text.strip():
            self._stream.write(json.dumps(record(text), ensure_ascii=False) + "\n")


def record(text: str) -> dict[str, str]:
    """The level is the word that a message starts with; a `fix:` line is a field."""
    found = _LEVEL.match(text)
    level = found[2].replace("note", "info") if found else "info"
    message, fix = (found[1] + text[found.end() :] if found else text), ""
    if message.count("\n  fix: ") == 1:
        message, _, fix = message.partition("\n  fix: ")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"time": now, "level": level, "msg": message.strip(), **({"fix": fix.strip()} if fix else {})}


class _CallHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"debug: {cleaned(record.getMessage())}\n")


@contextmanager
def logging_to_stderr(*, verbose: bool, as_json: bool) -> Iterator[None]:
    before, handler = sys.stderr, _CallHandler()
    sys.stderr = cast(TextIO, LogStream(before, as_json=as_json))
    if verbose:
        LOGGER.addHandler(handler)
        LOGGER.setLevel(logging.DEBUG)
        LOGGER.propagate = False
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stderr = before
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(logging.NOTSET)
        LOGGER.propagate = True
