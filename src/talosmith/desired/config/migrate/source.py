"""A patch as a tree that still knows its text: comments, notation and order move with each entry.

A value that is moved as it is keeps its lines; only their indentation changes. Other values are written
as people write YAML.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from talosmith.desired.config.nodes import MappingNode, Node, ScalarNode, SequenceNode, plain
from talosmith.inventory.importers.yaml_text import dump

STEP = 2  # columns of indentation


@dataclass
class Written:
    """A value as its author wrote it: what follows the key, and the lines below it.

    A list of mappings is also there item by item.
    """

    first: str
    more: tuple[str, ...]
    value: Any
    items: tuple[Item, ...] = ()

    def remarks(self) -> tuple[str, ...]:
        """The comment behind the key; of a list of mappings, those of each item too."""
        _, mark, comment = self.first.partition(" #") if self.first[:1] not in "\"'" else ("", "", "")
        if self.first.startswith("#"):
            mark, comment = " #", self.first[1:]
        inside = (one for item in self.items for one in (*item.comments, *Entry("", item.branch).remarks()))
        return (*((f"#{comment}",) if mark else ()), *inside)


@dataclass
class Made:
    """A value that is not in the source in this form."""

    value: Any


@dataclass
class Item:
    comments: tuple[str, ...]
    branch: Branch
    line: int = 0


@dataclass
class Entry:
    """`comments` stand above the key, `note` at the end of its line."""

    key: str
    value: Branch | Written | Made
    comments: tuple[str, ...] = ()
    note: str = ""
    line: int = 0

    def plain(self) -> Any:
        if isinstance(self.value, Branch):
            return self.value.plain()
        return self.value.value

    def remarks(self) -> tuple[str, ...]:
        """Every comment above, behind and inside of the entry, for a value that is written in another form."""
        inside: tuple[str, ...] = ()
        if isinstance(self.value, Branch):
            inside = (*(one for entry in self.value.entries for one in entry.remarks()), *self.value.foot)
        elif isinstance(self.value, Written):
            inside = self.value.remarks()
        return (*self.comments, *((self.note,) if self.note else ()), *inside)

    def items(self) -> tuple[Item, ...]:
        """The mappings of a list."""
        if isinstance(self.value, Written) and self.value.items:
            return self.value.items
        listed = self.plain()
        return (
            tuple(Item((), made(one)) for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()
        )


@dataclass
class Branch:
    """A mapping. `foot`: comments below its last entry."""

    entries: list[Entry] = field(default_factory=list)
    foot: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        return {entry.key: entry.plain() for entry in self.entries}

    def get(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key == key), None)

    def put(self, path: tuple[str, ...], entry: Entry) -> None:
        """Add an entry at a path, below branches that are made as needed. An entry of that key is replaced."""
        branch = self
        for key in path:
            found = branch.get(key)
            if found is None or not isinstance(found.value, Branch):
                made = Entry(key, Branch())
                if found is not None:
                    branch.entries[branch.entries.index(found)] = made
                else:
                    branch.entries.append(made)
                found = made
            branch = found.value  # type: ignore[assignment]
        old = branch.get(entry.key)
        if old is not None:
            branch.entries[branch.entries.index(old)] = entry
        else:
            branch.entries.append(entry)


class Source:
    """The lines of a text, for reading its nodes into trees."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()

    def tree(self, node: MappingNode, above: int = -1) -> Branch:
        """The tree of a mapping; `above` is the last line of what stands before it."""
        entries: list[Entry] = []
        for key, value in node.value:
            line = key.start_mark.line
            comments = tuple(self._comments(above, line)) if not node.flow_style else ()
            entries.append(self._entry(key, value, comments, flow=bool(node.flow_style)))
            above = max(above, self.last_line(value), line)
        return Branch(entries)

    def foot(self, node: Node, end: int) -> tuple[str, ...]:
        """The comments after a node, up to a line."""
        return tuple(self._comments(self.last_line(node), end))

    def last_line(self, node: Node) -> int:
        """The last line that holds something of the node."""
        if isinstance(node, ScalarNode) and node.style in ("|", ">"):
            line = node.end_mark.line - (1 if node.end_mark.column == 0 else 0)
            while line > node.start_mark.line and not self._line(line).strip():
                line -= 1
            return int(min(line, len(self.lines) - 1))
        if isinstance(node, MappingNode | SequenceNode) and node.value and not node.flow_style:
            last = node.value[-1]
            return self.last_line(last[1] if isinstance(last, tuple) else last)
        return int(node.end_mark.line)

    def _entry(self, key: ScalarNode, value: Node, comments: tuple[str, ...], *, flow: bool) -> Entry:
        line = key.start_mark.line
        if isinstance(value, MappingNode) and value.value and _is_plain_mapping(value):
            note = "" if flow else self._note(line, value)
            return Entry(str(key.value), self.tree(value, line), comments, note, line + 1)
        return Entry(str(key.value), self._written(key, value, flow=flow), comments, "", line + 1)

    def _written(self, key: ScalarNode, value: Node, *, flow: bool) -> Written | Made:
        if flow:
            start, end = value.start_mark, value.end_mark
            if start.line != end.line:
                return Made(plain(value))
            return Written(self._line(start.line)[start.column : end.column], (), plain(value))
        line, column = key.start_mark.line, key.start_mark.column
        after = self._line(line)[key.end_mark.column :].lstrip()
        first = after.removeprefix(":").strip()
        more = self.lines[line + 1 : self.last_line(value) + 1]
        return Written(first, tuple(_dedented(more, column)), plain(value), self._items(value, line))

    def _items(self, value: Node, above: int) -> tuple[Item, ...]:
        if not isinstance(value, SequenceNode) or not all(_is_plain_mapping(item) for item in value.value):
            return ()
        found: list[Item] = []
        for item in value.value:
            line = item.start_mark.line
            comments = () if value.flow_style else tuple(self._comments(above, line))
            found.append(Item(comments, self.tree(item, line), line + 1))
            above = self.last_line(item)
        return tuple(found)

    def _note(self, line: int, value: MappingNode) -> str:
        """The comment behind a key whose mapping starts on a later line, or behind a mapping in braces."""
        if value.flow_style:
            behind = self._line(value.end_mark.line)[value.end_mark.column :].strip()
            return behind if behind.startswith("#") else ""
        if value.start_mark.line == line:
            return ""
        _, mark, comment = self._line(line).partition(" #")
        return f"#{comment}" if mark else ""

    def _comments(self, above: int, line: int) -> Iterator[str]:
        for text in self.lines[above + 1 : line]:
            stripped = text.strip()
            if stripped.startswith("#"):
                yield stripped

    def _line(self, number: int) -> str:
        return self.lines[number] if number < len(self.lines) else ""


def made(value: dict[str, Any]) -> Branch:
    """The tree of a plain value."""
    return Branch(
        [
            Entry(str(key), made(inner) if isinstance(inner, dict) and inner else Made(inner))
            for key, inner in value.items()
        ]
    )


def _is_plain_mapping(node: Node) -> bool:
    """Whether every key of a mapping is a name; a merge key (<<) brings others."""
    return isinstance(node, MappingNode) and all(
        isinstance(key, ScalarNode) and (key.value != "<<" or key.style) for key, _ in node.value
    )


def _dedented(lines: list[str], column: int) -> Iterator[str]:
    for line in lines:
        yield line[column:] if not line[:column].strip() else line.lstrip()


def write(branch: Branch, column: int = 0) -> str:
    """The tree as text."""
    return "".join(f"{line}\n" for line in _lines(branch, column))


def _lines(branch: Branch, column: int) -> Iterator[str]:
    indent = " " * column
    for entry in branch.entries:
        yield from (indent + comment for comment in entry.comments)
        key = dump({entry.key: 0}).split(":")[0] if ":" not in entry.key else dump(entry.key).strip()
        if isinstance(entry.value, Branch):
            if not entry.value.entries:
                yield f"{indent}{key}: {{}}"
                continue
            yield f"{indent}{key}:{f' {entry.note}' if entry.note else ''}"
            yield from _lines(entry.value, column + STEP)
        elif isinstance(entry.value, Written):
            yield f"{indent}{key}:{f' {entry.value.first}' if entry.value.first else ''}"
            yield from (indent + line if line.strip() else "" for line in entry.value.more)
        else:
            note = f" {entry.note}" if entry.note else ""
            first, *more = dump({entry.key: entry.value.value}).splitlines()
            yield f"{indent}{first}{note}"
            yield from textwrap.indent("\n".join(more), indent).splitlines()
    yield from (indent + comment for comment in branch.foot)
