"""Patches that stand in cluster.yaml or nodes.yaml: found by value, and rewritten there as entries of a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from talosmith.desired.config.migrate.source import Source
from talosmith.desired.config.nodes import MappingNode, Node, SequenceNode, compose
from talosmith.inventory.parse import Unreadable, parse


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of a list: its lines, the column of its dash, and its text as a document of its own."""

    first: int
    last: int
    column: int
    text: str
    key: int  # the line of `patches:`


def entry_with(text: str, line: int, value: Any, taken: Sequence[int]) -> Place | None:
    """The entry of a `patches:` list that has this value, from a line on; None if it is no block of its own.

    `taken` are the first lines of entries that are spoken for: the same patch may stand in two places.
    """
    source = Source(text)
    for node in compose(text, "inventory"):
        for key, listed in _lists(node):
            for item in listed.value if not listed.flow_style else ():
                if item.start_mark.line + 1 < line or item.start_mark.line in taken or _is_flow(item):
                    continue
                place = _place(source, key, item)
                if place is not None and _value(place.text) == value:
                    return place
    return None


def _value(text: str) -> Any:
    """As inventories read it; what uses an anchor of another place cannot be read alone."""
    try:
        return parse(text.encode(), "entry").data
    except Unreadable:
        return None


def _is_flow(item: Node) -> bool:
    return not isinstance(item, MappingNode | SequenceNode) or bool(item.flow_style)


def _lists(node: Node) -> Iterator[tuple[Node, SequenceNode]]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if key.value == "patches" and isinstance(value, SequenceNode):
                yield key, value
            else:
                yield from _lists(value)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _lists(item)


def _place(source: Source, key: Node, item: Node) -> Place | None:
    first, last, column = item.start_mark.line, source.last_line(item), item.start_mark.column
    before = source.lines[first][:column]
    if before.strip() != "-":
        return None
    lines = [source.lines[first][column:], *(line[column:] for line in source.lines[first + 1 : last + 1])]
    return Place(first, last, before.index("-"), "".join(f"{line}\n" for line in lines), key.start_mark.line)


def rewritten(text: str, edits: Sequence[tuple[Place, str]]) -> str:
    """The file with the lines of entries replaced by an entry for each document; from below, so that lines stay."""
    lines = text.splitlines()
    for place, documents in sorted(edits, key=lambda edit: edit[0].first, reverse=True):
        lines[place.first : place.last + 1] = _entries(documents, " " * place.column)
        if not documents and not _has_entries(lines, place):
            lines[place.key] = f"{lines[place.key].split(':')[0]}: []"
    return "".join(f"{line}\n" for line in lines)


def _entries(documents: str, indent: str) -> list[str]:
    made: list[str] = []
    for document in documents.split("---\n") if documents else ():
        started = False
        for line in document.splitlines():
            if not started and line.startswith("#"):
                made.append(indent + line)
            elif not started:
                made.append(f"{indent}- {line}")
                started = True
            else:
                made.append(f"{indent}  {line}" if line.strip() else "")
    return made


def _has_entries(lines: list[str], place: Place) -> bool:
    """Whether the list that the entry was in has others."""
    dash = " " * place.column + "-"
    for line in lines[place.key + 1 :]:
        if line.startswith(dash):
            return True
        if line.strip() and not line.strip().startswith("#") and len(line) - len(line.lstrip()) < place.column:
            return False
    return False
