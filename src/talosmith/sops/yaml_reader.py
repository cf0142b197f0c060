"""YAML text becomes documents, with the meaning go-yaml gives it and, if wanted, with its comments.

The C parser gives events without comments. Those are the `#` between the scalars, so they are found from the events'
places in the text, and go into the collection that they stand in by their indentation.
"""

from __future__ import annotations

import copy
import re
from base64 import b64decode
from dataclasses import dataclass
from typing import Any

import yaml
from yaml import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from yaml._yaml import CParser

from talosmith.errors import SecretsError
from talosmith.sops.scalars import type_of
from talosmith.sops.tree import Comment, Document
from talosmith.yaml.go_words import Scalar, resolve_for_sops
from talosmith.yaml.limits import MAX_MANIFEST_DEPTH, LimitExceeded, check_limits

_Event = Any  # the stubs think that a mark may be missing; the C parser gives every event two

_COMMENT = re.compile(r"""(?<![^\s"'\]}])#[^\r\n]*""")
_CORE = "tag:yaml.org,2002:"
_TYPES = {"int": "int", "float": "float", "bool": "bool", "timestamp": "time"}
_MOST_VALUES = 500_000


def read_yaml(text: str, source: str, *, comments: bool = False) -> list[Document]:
    """Every document of the text; a mistake in it is an error with its line."""
    if not text.endswith("\n"):
        text += "\n"  # so that the end of the text has a line of its own
    builder = _Builder(text, source)
    try:
        check_limits(text, depth=MAX_MANIFEST_DEPTH, values=_MOST_VALUES)
        parser = CParser(text)
        while (event := parser.get_event()) is not None:
            builder.events.append(event)
    except LimitExceeded as problem:
        raise builder.wrong(f"is refused: {problem.what}", problem.line) from None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        raise builder.wrong(f"is not YAML: {problem.problem}", mark.line + 1 if mark else 0) from None
    except (yaml.YAMLError, UnicodeEncodeError):
        raise builder.wrong("is not YAML: it holds characters that no YAML text may") from None
    if comments and "#" in text:
        builder.find_comments()
    return builder.documents()


@dataclass(slots=True)
class _Found:
    """A comment and where it stands."""

    at: int
    column: int
    own_line: bool
    text: str


class _Builder:
    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.events: list[_Event] = []
        self.comments: list[_Found] = []  # those not yet placed, the first one last
        self.anchors: dict[str, Any] = {}
        self.position = 0

    def wrong(self, what: str, line: int = 0) -> SecretsError:
        place = f"{self.source}, line {line}," if line else self.source
        return SecretsError(f"{place} {what}", hint="correct the file; nothing was read from it")

    def wrong_at(self, what: str, event: _Event) -> SecretsError:
        return self.wrong(what, event.start_mark.line + 1)

    def take(self) -> _Event:
        event = self.events[self.position]
        self.position += 1
        return event

    def documents(self) -> list[Document]:
        self.take()  # the stream's start
        found = []
        while type(self.take()) is DocumentStartEvent:
            self.anchors.clear()
            found.append(self._root())
        return found

    def _root(self) -> Document:
        event = self.take()
        if type(event) is MappingStartEvent:
            root = self._mapping(event)
        elif type(event) is ScalarEvent and self._scalar(event) is None:
            root = {}  # a document with nothing in it
        else:
            raise self.wrong_at("is not a mapping at its top, which SOPS needs", event)
        end = self.take()
        while self.comments and self.comments[-1].at < end.start_mark.index:
            root[Comment(self.comments.pop().text)] = None
        return root

    def _value(self, event: _Event) -> Any:
        anchor: Any = event.anchor
        value: Any
        if type(event) is AliasEvent:
            if anchor not in self.anchors:
                raise self.wrong_at(f"uses the alias *{anchor} before it is defined", event)
            return copy.deepcopy(self.anchors[anchor])
        if type(event) is ScalarEvent:
            value = self._scalar(event)
        elif event.tag not in (None, "!", f"{_CORE}map", f"{_CORE}seq"):
            raise self.wrong_at(f"has the tag {event.tag}, which SOPS would drop", event)
        elif type(event) is MappingStartEvent:
            value = self._mapping(event)
        else:
            value = self._sequence(event)
        if anchor:
            self.anchors[anchor] = value
        return value

    def _scalar(self, event: _Event) -> Scalar:
        tag, word = event.tag, event.value
        if event.implicit[0] or (tag == "!" and not event.style):
            return resolve_for_sops(word)
        if tag is None or tag in ("!", f"{_CORE}str", f"{_CORE}merge"):
            return str(word)
        name = tag.removeprefix(_CORE)
        if name == "binary":
            try:
                return b64decode(word).decode()
            except ValueError:
                raise self.wrong_at("has !!binary data that is not text", event) from None
        value = resolve_for_sops(word)
        if name == "null" and value is None:
            return None
        if name == "float" and type(value) is int:
            return float(value)
        if name in _TYPES and value is not None and type_of(value) == _TYPES[name]:
            return value
        raise self.wrong_at(f"has the tag {tag}, which SOPS does not know or which does not fit the value", event)

    def _mapping(self, start: _Event) -> Document:
        result: Document = {}
        column = -1
        while type(event := self.take()) is not MappingEndEvent:
            if self.comments:
                result.update(dict.fromkeys(self._before(event)))
                if column < 0:
                    column = event.start_mark.column
            key = self._key(event)
            if key in result:
                raise self.wrong_at(f"has the key {key!r} twice", event)
            event = self.take()
            beside = self._before(event, leave_own_lines=_is_block(event)) if self.comments else []
            value = self._value(event)
            if self.comments and not start.flow_style and not _is_block(event):
                beside += self._behind()
            if beside:
                result.update(dict.fromkeys(beside))
            result[key] = value
        if self.comments and not start.flow_style:
            result.update(dict.fromkeys(self._below(column, event)))
        return result

    def _key(self, event: _Event) -> str:
        if type(event) is ScalarEvent:
            key = self._scalar(event)
            if isinstance(key, str) and type_of(key) == "str":
                return key
        raise self.wrong_at("has a key that is not a string; put it in quotes", event)

    def _sequence(self, start: _Event) -> list[Any]:
        result: list[Any] = []
        while type(event := self.take()) is not SequenceEndEvent:
            if self.comments:
                result += self._before(event)
            value = self._value(event)
            if self.comments and not start.flow_style and not _is_block(event):
                result += self._behind()
            result.append(value)
        if self.comments and not start.flow_style:
            result += self._below(start.start_mark.column, event)
        return result

    def find_comments(self) -> None:
        """Every `#` that is not part of a scalar. In a block scalar's first line there may be one too."""
        found: list[_Found] = []
        end = 0
        for event in self.events:
            start, stop = event.start_mark.index, event.end_mark.index
            if start > end:
                self._find_between(end, start, found)
                end = start
            if type(event) is ScalarEvent:
                end = max(end, stop)
                if event.style in ("|", ">"):
                    self._find_between(start, self.text.index("\n", start), found)
        self.comments = found[::-1]

    def _find_between(self, start: int, end: int, found: list[_Found]) -> None:
        for match in _COMMENT.finditer(self.text, start, end):
            at = match.start()
            line = self.text.rfind("\n", 0, at) + 1
            own_line = not self.text[line:at].strip()
            found.append(_Found(at, at - line, own_line, match[0][1:]))

    def _before(self, event: _Event, *, leave_own_lines: bool = False) -> list[Comment]:
        """Comments in front of what starts now."""
        taken = []
        while self.comments and self.comments[-1].at < event.start_mark.index:
            if leave_own_lines and self.comments[-1].own_line:
                break
            taken.append(Comment(self.comments.pop().text))
        return taken

    def _behind(self) -> list[Comment]:
        """Comments on the line where a value has just ended (or, for a block scalar, started)."""
        event = self.events[self.position - 1]
        end = event.end_mark.index
        if type(event) is not ScalarEvent or event.style not in ("|", ">"):  # those end on a line further down
            end = self.text.index("\n", end)
        taken = []
        while self.comments and not self.comments[-1].own_line and self.comments[-1].at < end:
            taken.append(Comment(self.comments.pop().text, inline=True))
        return taken

    def _below(self, column: int, end: _Event) -> list[Comment]:
        """Comments after the last entry that are indented like it, and deeper than what follows."""
        taken = []
        while self.comments and self.comments[-1].at < end.start_mark.index:
            comment = self.comments[-1]
            if not comment.own_line or comment.column < column or comment.column <= end.start_mark.column:
                break
            taken.append(Comment(self.comments.pop().text))
        return taken


def _is_block(event: _Event) -> bool:
    return type(event) in (MappingStartEvent, SequenceStartEvent) and not event.flow_style
