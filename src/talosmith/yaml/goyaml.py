"""Writes YAML byte for byte as Talos' own library, go-yaml, does.

Schematic ids are hashes of such text, and a diff against talosctl's files is only worth reading when it is
empty for equal content. No YAML library for Python can be told to indent and to quote like that, so the rules
stand here.

One kind of text is written differently on purpose: where a block of text starts with blanks, go-yaml's
indentation hint is wrong or missing, and what it wrote reads back as something else or not at all. `dump`
writes the right hint; `dump(…, exact=True)` does as go-yaml does, for text that is only hashed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cmp_to_key
from typing import Any

from talosmith.yaml.goyaml_scalar import BREAKS, escaped, inline, simple_key, textless, unprintable

STEP = 4

_MAPS = (dict, Mapping)  # the abstract one is asked last, for asking it takes long
_COLLECTIONS = (dict, list, tuple, Mapping)

_LINE_START = re.compile(f"(?<=[{BREAKS}])(?![{BREAKS}])(?!\\Z)")
_SPACE_BEFORE_BREAK = re.compile(f" [{BREAKS}]")
_SPACE_AFTER_BREAK = re.compile(f"[{BREAKS}] ")
_BLANK_FIRST = re.compile(f"[{BREAKS}]*[ \t]")


def dump(document: Any, *, exact: bool = False) -> str:
    """One document of dicts, lists, text, numbers, bools and None; keys stand in the order given."""
    writer = _Writer(exact)
    if document and isinstance(document, _COLLECTIONS):
        writer.collection(document, 0, "")
    elif isinstance(document, str):
        writer.out.append(f"{text}\n" if (text := inline(document)) else writer.lines(document, 0, STEP))
    else:
        writer.out.append(f"{textless(document)}\n")
    return "".join(writer.out)


def dump_all(documents: Iterable[Any]) -> str:
    """Several documents, parted by `---` lines."""
    return "---\n".join([dump(document) for document in documents])


def sort_keys(value: Any) -> Any:
    """The value with its maps ordered as go-yaml orders maps without a schema: digits count as numbers."""
    if isinstance(value, Mapping):
        return {key: sort_keys(value[key]) for key in sorted(value, key=cmp_to_key(_compare_keys))}
    if isinstance(value, list | tuple):
        return [sort_keys(item) for item in value]
    return value


class _Writer:
    """Collects the text.

    A collection's keys or dashes stand at `column`, their content at `inner`. `lead` is what stands before
    the first of them in its line: blanks, or the dash that the collection follows.
    """

    __slots__ = ("exact", "out")

    def __init__(self, exact: bool) -> None:
        self.exact = exact
        self.out: list[str] = []

    def mapping(self, mapping: Mapping[Any, Any], column: int, lead: str) -> None:
        out = self.out
        inner = (column + STEP) // STEP * STEP
        for key, value in mapping.items():
            if type(key) is str:
                name = simple_key(key)
            else:
                name = simple_key(str.__str__(key)) if isinstance(key, str) else textless(key)
            if not name:
                self.long_key(key, value, column, inner, lead)
            elif type(value) is str and (text := inline(value)):
                out.append(f"{lead}{name}: {text}\n")
            elif value and isinstance(value, _COLLECTIONS):
                out.append(f"{lead}{name}:\n")
                self.collection(value, inner, " " * inner)
            else:
                self.scalar(f"{lead}{name}:", value, column, inner)
            lead = " " * column

    def sequence(self, items: Iterable[Any], column: int, lead: str) -> None:
        inner = column + 2
        for value in items:
            if value and isinstance(value, _COLLECTIONS):
                self.collection(value, inner, f"{lead}- ")
            else:
                self.scalar(f"{lead}-", value, column, inner)
            lead = " " * column

    def collection(self, value: Any, column: int, lead: str) -> None:
        if isinstance(value, _MAPS):
            self.mapping(value, column, lead)
        else:
            self.sequence(value, column, lead)

    def scalar(self, head: str, value: Any, column: int, inner: int) -> None:
        if not isinstance(value, str):
            self.out.append(f"{head} {textless(value)}\n")
        elif text := inline(str.__str__(value)):  # members of enumerations are text too
            self.out.append(f"{head} {text}\n")
        else:
            self.out.append(f"{head} {self.lines(value, column, inner)}")

    def long_key(self, key: str, value: Any, column: int, inner: int, lead: str) -> None:
        """A key of many bytes or lines: `? key`, below it `: value`; a collection starts in the same line."""
        self.scalar(f"{lead}?", key, column, inner)
        head = " " * column + ":"
        if value and isinstance(value, _COLLECTIONS):
            self.collection(value, inner, head.ljust(inner))
        else:
            self.scalar(head, value, column, inner)

    def lines(self, text: str, column: int, inner: int) -> str:
        """Text with line breaks, and the end of its last line."""
        if unprintable(text) or _SPACE_BEFORE_BREAK.search(text):
            return f'"{escaped(text)}"\n'
        if "\n" not in text:
            if "\t" in text or _SPACE_AFTER_BREAK.search(text):
                return f'"{escaped(text)}"\n'
            return "'" + _LINE_START.sub(" " * inner, text.replace("'", "''")) + "'\n"
        if text.isspace() or text[-1] == " ":
            return f'"{escaped(text)}"\n'
        if self.exact:
            hint = str(STEP) if text[0] == " " else ""
        else:
            hint = str(inner - column) if _BLANK_FIRST.match(text) else ""
        ends = text[-1] in BREAKS
        keep = "-" if not ends else "+" if text[-2] in BREAKS else ""
        start = "" if text[0] in BREAKS else " " * inner
        return f"|{hint}{keep}\n{start}{_LINE_START.sub(' ' * inner, text)}" + ("" if ends else "\n")


def _compare_keys(left: Any, right: Any) -> int:
    """Less than nought if `left` goes first: numbers before text, runs of digits in text by their value."""
    if not isinstance(left, str) or not isinstance(right, str):
        ranks = [(1, 0) if isinstance(key, str) else (0, key) for key in (left, right)]
        return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])
    at = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    if at is None:
        return len(left) - len(right)
    a, b = left[at], right[at]
    if a.isalpha() != b.isalpha():  # letters go last, but first where a number went before
        return -1 if a.isalpha() == left[:at][-1:].isdecimal() else 1
    if not a.isalpha():
        # Behind a number that has begun, noughts are figures like the others.
        begun = int("0" in (a, b) and left[:at][len(left[:at].rstrip("0123456789")) :].strip("0") != "")
        runs = [_run(key, at, begun) for key in (left, right)]
        if runs[0] != runs[1]:
            return -1 if runs[0] < runs[1] else 1
    return -1 if a < b else 1


def _run(text: str, start: int, number: int) -> tuple[int, int]:
    """The number whose figures go on at `start`, and where it ends."""
    end = start
    while end < len(text) and text[end].isdecimal():
        number = number * 10 + ord(text[end]) - ord("0")
        number = (number + 2**63) % 2**64 - 2**63  # go-yaml counts in 64 bits
        end += 1
    return number, end
