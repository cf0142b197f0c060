"""Builds plain data from the events of PyYAML's C parser, within limits, and places of values if they are wanted.

What YAML 1.1 reads differently, duplicate keys, tags and aliases without end are what ready loaders get wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from talosmith.errors import Problem
from talosmith.yaml.limits import (
    MAX_ALIASED,
    MAX_DEPTH,
    MAX_VALUES,
    TOO_MANY_ALIASED,
    contains_itself,
    too_deep,
    too_many,
)

_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_OTHER_BASE = re.compile(r"0o([0-7]+)\Z|0x([0-9a-fA-F]+)\Z")
_LONGEST_NUMBER = 25
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WORDS |= {".inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
_CORE = "tag:yaml.org,2002:"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Unreadable(Exception):
    """The text is not YAML that we take; carries the problems, each with its place."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(problems[0].what)
        self.problems = problems


@dataclass(slots=True)
class Mark:
    """Where a value stands, and where its children do. Lines and columns count from 1."""

    line: int
    column: int
    keys: dict[str, tuple[int, int, Mark]] = field(default_factory=dict)  # with the place of each key
    items: list[Mark] = field(default_factory=list)


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is being read."""

    container: dict[str, Any] | list[Any]
    mark: Mark | None
    anchor: str | None
    started_at: int  # how many values had been read before it
    key: str | None = None
    key_place: tuple[int, int] = (0, 0)
    merged: list[tuple[dict[str, Any], Mark | None]] = field(default_factory=list)


class Builder:
    """Reads one text. `build` gives its documents and, if asked for, their marks; problems are collected."""

    def __init__(self, file: str, text: str, *, with_marks: bool = False) -> None:
        self.file = file
        self.text = text
        self.with_marks = with_marks
        self.problems: list[Problem] = []
        self.second_document = (1, 1)
        self._anchors: dict[str, tuple[Any, Mark | None, int]] = {}
        self._count = 0
        self._aliased = 0

    def problem(self, what: str, line: int, column: int, why: str = "", fix: str = "") -> None:
        self.problems.append(Problem("error", what, why, fix, self.file, line, column))

    def build(self) -> tuple[list[Any], list[Mark]]:
        documents: list[Any] = []
        marks: list[Mark] = []
        try:
            for value, mark in self._documents():
                documents.append(value)
                if mark is not None:
                    marks.append(mark)
        except yaml.MarkedYAMLError as wrong:
            self._syntax(wrong)
        return documents, marks

    def _syntax(self, wrong: yaml.MarkedYAMLError) -> None:
        at = wrong.problem_mark or wrong.context_mark
        line, column = (at.line + 1, at.column + 1) if at else (1, 1)
        what = wrong.problem or "this is not YAML"
        fix = ""
        if "'\\t'" in what or ("cannot start any token" in what and "\t" in self.text):
            fix = "YAML is indented with spaces, not tabs"
        elif "mapping values are not allowed" in what:
            fix = "put quotes around a value that holds `: `, or check the indentation"
        elif "could not find expected ':'" in what:
            fix = "is a `:` missing after the key, or an indentation wrong?"
        raise Unreadable(
            *self.problems,
            Problem("error", f"not valid YAML: {what}", wrong.context or "", fix, self.file, line, column),
        )

    def _stop(self, what: str, event: Any, fix: str = "") -> Unreadable:
        self.problem(what, event.start_mark.line + 1, event.start_mark.column + 1, fix=fix)
        return Unreadable(*self.problems)

    def _documents(self) -> Iterator[tuple[Any, Mark | None]]:
        stack: list[_Frame] = []
        root: tuple[Any, Mark | None] = (None, None)
        started = 0
        with_marks = self.with_marks
        next_event = _LOADER(self.text).get_event
        while event := next_event():
            kind = event.__class__
            mark: Mark | None = None
            if kind is yaml.ScalarEvent:
                top = stack[-1] if stack else None
                if top is not None and top.key is None and top.container.__class__ is dict:
                    start = event.start_mark
                    top.key = event.value
                    top.key_place = (start.line + 1, start.column + 1)
                    if event.anchor:
                        self._anchors[event.anchor] = (event.value, None, 1)
                    continue
                self._count += 1
                value: Any = self._scalar(event)
                if with_marks:
                    mark = Mark(event.start_mark.line + 1, event.start_mark.column + 1)
                if event.anchor:
                    self._anchors[event.anchor] = (value, mark, 1)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._open(stack, event)
                continue
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                frame = stack.pop()
                value, mark = frame.container, frame.mark
                self._merge(frame)
                if frame.anchor:
                    self._anchors[frame.anchor] = (value, mark, self._count - frame.started_at)
            elif kind is yaml.AliasEvent:
                value, mark = self._alias(stack, event)
            elif kind is yaml.DocumentStartEvent:
                started += 1
                if started == 2:
                    self.second_document = (event.start_mark.line + 1, event.start_mark.column + 1)
                self._anchors.clear()
                root = (None, None)
                continue
            elif kind is yaml.DocumentEndEvent:
                yield root
                continue
            else:
                continue
            if self._count > MAX_VALUES:
                raise self._stop(too_many(), event)
            if stack:
                self._add(stack[-1], value, mark)
            else:
                root = (value, mark)

    def _open(self, stack: list[_Frame], event: Any) -> None:
        if len(stack) >= MAX_DEPTH:
            raise self._stop(too_deep(), event)
        top = stack[-1] if stack else None
        if top is not None and top.key is None and top.container.__class__ is dict:
            fix = "put quotes around it if it is text, such as a `{…}` placeholder"
            raise self._stop("a list or mapping stands where a key should be", event, fix)
        is_map = event.__class__ is yaml.MappingStartEvent
        if event.tag not in (None, "!", _CORE + ("map" if is_map else "seq")):
            self._refuse_tag(event)
        mark = None
        if self.with_marks:
            mark = Mark(event.start_mark.line + 1, event.start_mark.column + 1)
        if event.anchor:
            self._anchors.pop(event.anchor, None)
        stack.append(_Frame({} if is_map else [], mark, event.anchor, self._count))
        self._count += 1  # an empty list counts too: aliases of many would be a bomb of nothing

    def _add(self, frame: _Frame, value: Any, mark: Mark | None) -> None:
        container = frame.container
        if isinstance(container, list):
            container.append(value)
            if mark is not None and frame.mark is not None:
                frame.mark.items.append(mark)
            return
        key, frame.key = frame.key, None
        if key is None:  # an alias used as a key
            frame.key, frame.key_place = str(value), (1, 1)
            return
        if key == "<<" and isinstance(value, dict | list):
            parts = value if isinstance(value, list) else [value]
            marks: Sequence[Mark | None] = [mark] * len(parts)
            if mark is not None and isinstance(value, list):
                marks = mark.items
            frame.merged += [(part, at) for part, at in zip(parts, marks, strict=True) if isinstance(part, dict)]
            return
        if key in container:
            line, column = frame.key_place
            self.problem(f"`{key}` is given twice", line, column, fix="keep one of the two")
            return
        container[key] = value
        if mark is not None and frame.mark is not None:
            frame.mark.keys[key] = (*frame.key_place, mark)

    def _merge(self, frame: _Frame) -> None:
        """`<<: *defaults`: keys that the mapping does not give itself."""
        for part, mark in frame.merged:
            for key, value in part.items():
                frame.container.setdefault(key, value)  # type: ignore[union-attr]
            if mark is not None and frame.mark is not None:
                for key, child in mark.keys.items():
                    frame.mark.keys.setdefault(key, child)

    def _alias(self, stack: list[_Frame], event: Any) -> tuple[Any, Mark | None]:
        name = event.anchor
        if any(frame.anchor == name for frame in stack) and name not in self._anchors:
            raise self._stop(contains_itself(name), event)
        if name not in self._anchors:
            raise self._stop(f"`*{name}` is used but no `&{name}` comes before it", event)
        value, mark, size = self._anchors[name]
        self._aliased += size
        self._count += size
        if self._aliased > MAX_ALIASED:
            raise self._stop(TOO_MANY_ALIASED, event)
        return value, mark

    def _refuse_tag(self, event: Any) -> None:
        tag = str(event.tag).replace(_CORE, "!!")
        start = event.start_mark
        what = f"the tag `{tag}` is not taken"
        self.problem(what, start.line + 1, start.column + 1, "an inventory is data only", "remove the tag")

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if event.implicit[0]:
            return resolve_plain(text)
        tag = event.tag
        if tag is None or tag in ("!", _CORE + "str"):
            return text
        if tag in (_CORE + "int", _CORE + "float", _CORE + "bool", _CORE + "null"):
            return resolve_plain(text)
        self._refuse_tag(event)
        return text


def resolve_plain(text: str) -> Any:
    """What a plain scalar means in YAML 1.2 (core schema)."""
    first = text[:1]
    if not first or first in "~nNtTfF.-+":
        if text in _WORDS:
            return _WORDS[text]
        if first not in ".-+":
            return text
    elif not ("0" <= first <= "9"):
        return text
    if len(text) <= _LONGEST_NUMBER:
        if _INTEGER.match(text):
            return int(text)
        if _FLOAT.match(text):
            return float(text)
        other = _OTHER_BASE.match(text)
        if other:
            return int(other[1], 8) if other[1] else int(other[2], 16)
    return text
