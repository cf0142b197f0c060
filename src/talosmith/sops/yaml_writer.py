"""Documents become YAML text, laid out and quoted as `sops` does, so that the two can take turns on a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from talosmith.sops.tree import Comment, Document
from talosmith.yaml.go_words import Timestamp, is_text_since_1_2, resolve_for_sops
from talosmith.yaml.goyaml import Writer
from talosmith.yaml.goyaml_scalar import escaped


def write_yaml(documents: Sequence[Document], indent: int = 4) -> str:
    """The text of settled documents."""
    return "---\n".join(_Writer(indent).text(document) for document in documents)


class _Writer(Writer):
    """go-yaml's layout, which is that of sops, with comments."""

    def collection(self, value: Any, column: int, lead: str) -> None:
        pending: list[Comment] = []
        for entry in value:
            if isinstance(entry, Comment):
                pending.append(entry)
                continue
            start = len(self.out)
            if isinstance(value, dict):
                self.mapping({entry: value[entry]}, column, lead)
                self._place(pending, start, column, value[entry])
            else:
                self.sequence([entry], column, lead)
                self._place(pending, start, column, entry)
            pending, lead = [], " " * column
        self.out += self._lines(pending, column)
        if pending:
            self.out.append("\n")  # else go-yaml takes them for part of what is nested in the last entry
        if not any(isinstance(entry, str) for entry in value) and isinstance(value, dict):
            self.out.append("{}\n")  # a document of comments alone

    def _place(self, comments: list[Comment], start: int, column: int, value: Any) -> None:
        """Put the comments above the entry that was written at `start`, the last one beside it if it stood there."""
        beside = comments and comments[-1].inline and not isinstance(value, (dict, list, tuple))
        if beside and "\n" not in self.out[-1][:-1]:
            self.out[-1] = f"{self.out[-1][:-1]} #{comments[-1].text}\n"
            comments = comments[:-1]
        self.out[start:start] = self._lines(comments, column)

    @staticmethod
    def _lines(comments: list[Comment], column: int) -> list[str]:
        return [f"{' ' * column}#{line}\n" for comment in comments for line in comment.text.split("\n")]

    def name(self, key: Any) -> str:
        if key == "<<":
            return "!!merge <<"
        return f'"{key}"' if isinstance(key, str) and is_text_since_1_2(key) else super().name(key)

    def inline(self, text: str) -> str:
        if isinstance(text, Timestamp):
            return str(text)
        # Numbers to the go-yaml of sops, though not to that of Talos; and sops has one kind of quotes for both.
        quoted = type(resolve_for_sops(text)) is int or is_text_since_1_2(text)
        return f'"{text}"' if quoted else super().inline(text)

    def textless(self, value: Any) -> str:
        """A whole float keeps its point: without it, the value would come back as an integer."""
        return repr(value) if isinstance(value, float) and math.isfinite(value) else super().textless(value)

    def lines(self, text: str, column: int, inner: int) -> str:
        """A block only where no reader can differ about its ends, and where no comment can become part of it."""
        ends_differ = text[0] in " \t\n" or text.endswith((" ", "\n\n")) or " \n" in text
        return f'"{escaped(text)}"\n' if ends_differ or "\n" not in text else super().lines(text, column, inner)
