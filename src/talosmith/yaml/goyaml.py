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
from typing import Any

from talosmith.yaml.go_order import sort_keys as sort_keys
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
    return Writer(exact=exact).text(document)


def dump_all(documents: Iterable[Any]) -> str:
    """Several documents, parted by `---` lines."""
    return "---\n".join([dump(document) for document in documents])


class Writer:
    """Collects the text of one document.

    A collection's keys or dashes stand at `column`, their content at `inner`. `lead` is what stands before
    the first of them in its line: blanks, or the dash that the collection follows.
    """

    def __init__(self, step: int = STEP, *, exact: bool = False) -> None:
        self.step = step
        self.exact = exact
        self.out: list[str] = []

    def text(self, document: Any) -> str:
        if document and isinstance(document, _COLLECTIONS):
            self.collection(document, 0, "")
        elif isinstance(document, str):
            self.out.append(f"{text}\n" if (text := self.inline(document)) else self.lines(document, 0, self.step))
        else:
            self.out.append(f"{self.textless(document)}\n")
        return "".join(self.out)

    def inline(self, text: str) -> str:
        """The text on one line; empty if it has line breaks."""
        return inline(str.__str__(text))  # members of enumerations are text too

    def name(self, key: Any) -> str:
        """A key as it stands before its colon; empty if it cannot."""
        return simple_key(str.__str__(key)) if isinstance(key, str) else textless(key)

    def textless(self, value: Any) -> str:
        """A number, a bool, nothing, or a collection without content."""
        return textless(value)

    def mapping(self, mapping: Mapping[Any, Any], column: int, lead: str) -> None:
        out = self.out
        inner = (column + self.step) // self.step * self.step
        for key, value in mapping.items():
            name = self.name(key)
            if not name:
                self.long_key(key, value, column, inner, lead)
            elif type(value) is str and (text := self.inline(value)):
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
            self.out.append(f"{head} {self.textless(value)}\n")
        elif text := self.inline(value):
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
            hint = str(self.step) if text[0] == " " else ""
        else:
            hint = str(inner - column) if _BLANK_FIRST.match(text) else ""
        ends = text[-1] in BREAKS
        keep = "-" if not ends else "+" if text[-2] in BREAKS else ""
        start = "" if text[0] in BREAKS else " " * inner
        return f"|{hint}{keep}\n{start}{_LINE_START.sub(' ' * inner, text)}" + ("" if ends else "\n")
