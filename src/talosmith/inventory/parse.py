"""YAML text becomes plain data, in the YAML 1.2 sense, with nothing executable and nothing unbounded.

Built by our own code because ready loaders read YAML 1.1 (`52:54:00:11:22:33` is a number there, `no` a boolean), let
a later key win silently, and follow aliases without end. Positions cost time, so they are only looked up when there
is something to report.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from talosmith.errors import Problem
from talosmith.files.regular import MAX_BYTES
from talosmith.yaml.builder import Builder, Mark, Unreadable, resolve_plain

Path = tuple[str | int, ...]

__all__ = ["Document", "Path", "Unreadable", "decode", "parse", "resolve_plain"]

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Document:
    """One file: its data, and the place of every value, looked up on demand."""

    file: str
    text: str
    documents: list[Any] = field(default_factory=list)

    @property
    def data(self) -> Any:
        return self.documents[0] if self.documents else None

    @cached_property
    def _marks(self) -> list[Mark]:
        return Builder(self.file, self.text, with_marks=True).build()[1]

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def locate(self, path: Path, *, of_key: bool = False) -> tuple[int, int]:
        """The place of the value at `path`, or of what comes nearest above it."""
        if not self._marks:
            return 1, 1
        mark = self._marks[0]
        place = mark.line, mark.column
        for step in path:
            if isinstance(step, int) and step < len(mark.items):
                mark = mark.items[step]
                place = mark.line, mark.column
            elif step in mark.keys:
                key_line, key_column, mark = mark.keys[str(step)]
                place = (key_line, key_column) if of_key else (mark.line, mark.column)
            else:
                break
        return place


def decode(content: bytes, file: str) -> str:
    """UTF-8 text; an error has the place of the first byte that is not."""
    if len(content) > MAX_BYTES:
        raise Unreadable(
            Problem(
                "error",
                f"the file is larger than {MAX_BYTES // 1024**2} MiB",
                fix="check the file: an inventory of 10,000 nodes is smaller",
                file=file,
            )
        )
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Unreadable(Problem("error", "the file is UTF-16", fix="save it as UTF-8", file=file, line=1, column=1))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        before = content[: wrong.start]
        line, column = before.count(b"\n") + 1, wrong.start - before.rfind(b"\n")
        what = f"byte 0x{content[wrong.start]:02x} is not UTF-8"
        raise Unreadable(
            Problem("error", what, fix="save the file as UTF-8", file=file, line=line, column=column)
        ) from None
    unprintable = _UNPRINTABLE.search(text)
    if unprintable:
        at = unprintable.start()
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        what = f"control character U+{ord(text[at]):04X} in the file"
        raise Unreadable(Problem("error", what, fix="remove it", file=file, line=line, column=column))
    return text


def parse(content: bytes, file: str, *, several: bool = False) -> Document:
    """Data from the bytes of a YAML file; `several` allows more than one document in it."""
    document = Document(file, decode(content, file))
    builder = Builder(file, document.text)
    document.documents, _ = builder.build()
    if len(document.documents) > 1 and not several:
        builder.problem("a second document (`---`) in the file", *builder.second_document, fix="keep one")
    if builder.problems:
        raise Unreadable(*builder.problems)
    return document
