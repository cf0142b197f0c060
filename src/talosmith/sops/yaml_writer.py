"""Documents become YAML text, laid out and quoted as `sops` does, so that the two can take turns on a file."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from talosmith.sops.scalars import Scalar, resolve
from talosmith.sops.tree import Comment, Document, Timestamp

# Words in YAML 1.1, which other tools still read.
_OLD_BOOLEANS = {*"yYnN", "yes", "Yes", "YES", "on", "On", "ON", "no", "No", "NO", "off", "Off", "OFF"}
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?\Z")
_PRINTABLE = " -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd"
_ONE_LINE = re.compile(f"[{_PRINTABLE}]*\\Z")
_LINES = re.compile(f"[{_PRINTABLE}\t\n]*\\Z")
_ESCAPED = re.compile(f'["\\\\]|[^{_PRINTABLE}]')
_SHORT_ESCAPES = dict(zip('\0\a\b\t\n\v\f\r\x1b"\\\x85\u2028\u2029', '0abtnvfre"\\NLP', strict=True))
_LONGEST_KEY = 128  # a longer one needs the form with `?`


def write_yaml(documents: Sequence[Document], indent: int = 4) -> str:
    """The text of settled documents."""
    return "---\n".join(_Writer(indent).write(document) for document in documents)


class _Writer:
    def __init__(self, indent: int) -> None:
        self.indent = indent
        self.lines: list[str] = []

    def write(self, document: Document) -> str:
        self._collection(document, 0, "")
        if not any(isinstance(key, str) for key in document):
            self.lines.append("{}")
        return "\n".join(self.lines) + "\n"

    def _deeper(self, column: int) -> int:
        """The next multiple of the indent: what stands behind a dash is two columns in, and comes back to it."""
        return self.indent * (column // self.indent + 1)

    def _comments(self, comments: list[Comment], column: int) -> None:
        for comment in comments:
            self.lines += [f"{' ' * column}#{line}" for line in comment.text.split("\n")]

    def _collection(self, collection: Any, column: int, start: str) -> None:
        """The entries of a mapping or list; `start` stands in front of the first one, else spaces."""
        is_mapping = isinstance(collection, dict)
        pending: list[Comment] = []
        for entry in collection:
            if isinstance(entry, Comment):
                pending.append(entry)
                continue
            if is_mapping:
                value, lead = collection[entry], f"{_key(entry, column)}:"
            else:
                value, lead = entry, "-"
            self._entry(f"{start}{lead}", value, column, pending)
            pending, start = [], " " * column
        self._comments(pending, column)
        if pending:
            self.lines.append("")  # else go-yaml takes them for part of what is nested in the last entry

    def _entry(self, lead: str, value: Any, column: int, comments: list[Comment]) -> None:
        collection = isinstance(value, (dict, list, tuple))
        nested = collection and len(value) > 0
        literal = isinstance(value, str) and _is_literal(value)
        beside = comments and comments[-1].inline and not collection and not literal
        self._comments(comments[:-1] if beside else comments, column)
        if nested and lead.endswith("-"):
            self._collection(value, column + 2, f"{lead} ")
        elif nested:
            self.lines.append(lead)
            self._collection(value, self._deeper(column), " " * self._deeper(column))
        elif literal:
            inside = " " * self._deeper(column)
            self.lines.append(f"{lead} |" if value.endswith("\n") else f"{lead} |-")
            self.lines += [inside + line if line else "" for line in value.removesuffix("\n").split("\n")]
        else:
            remark = f" #{comments[-1].text}" if beside else ""
            self.lines.append(f"{lead} {_scalar(value)}{remark}")


def _key(key: str, column: int) -> str:
    if key == "<<":
        return "!!merge <<"
    text = _quoted(key)
    return text if len(text) <= _LONGEST_KEY else f"? {text}\n{' ' * column}"


def _scalar(value: Scalar | Sequence[Any] | Document) -> str:
    if isinstance(value, str):
        return str(value) if isinstance(value, Timestamp) else _quoted(value)
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    return "{}" if isinstance(value, dict) else "[]"


def _quoted(text: str) -> str:
    """The text on one line: plain if that reads back the same, then in single quotes, then escaped."""
    if _ONE_LINE.match(text) and _stays_text(text):
        return text if _may_be_plain(text) else "'" + text.replace("'", "''") + "'"
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _stays_text(text: str) -> bool:
    word = resolve(text)
    return type(word) is str and text not in _OLD_BOOLEANS and text != "<<" and not _BASE_60.match(text)


def _may_be_plain(text: str) -> bool:
    return not (
        text[0] in "#,[]{}&*!|>'\"%@` "
        or (text[0] in "?:-" and text[1:2] in ("", " "))
        or text.startswith(("---", "..."))
        or text.endswith((" ", ":"))
        or " #" in text
        or ": " in text
    )


def _is_literal(text: str) -> bool:
    """Whether the text is written as a block with `|`: only where no reader can differ about its ends."""
    return (
        "\n" in text
        and text[0] not in " \t\n"
        and not text.endswith((" ", "\n\n"))
        and " \n" not in text
        and _LINES.match(text) is not None
    )


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if short := _SHORT_ESCAPES.get(char):
        return f"\\{short}"
    code = ord(char)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
