"""Reads YAML as kubectl and Helm do: YAML 1.1 words for bools, text for keys and dates, aliases and merges resolved.

Both turn YAML into JSON before they look at it. So every number of a chart's values is a floating-point number, which
shows in the output (1000000 is printed as 1e+06) and must be kept; manifests are read with whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml

from talosmith.yaml.go_words import Scalar, resolve_for_kubernetes
from talosmith.yaml.limits import MAX_MANIFEST_DEPTH, LimitExceeded, check_limits, too_deep

_PARSER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:binary"}


def load_all(
    text: str,
    *,
    whole_numbers: bool = True,
    refuse_twice: bool = False,
    resolve: Callable[[str], Scalar] = resolve_for_kubernetes,
) -> Iterator[Any]:
    """Every document of the text. Raises `yaml.MarkedYAMLError`, `LimitExceeded` for a text beyond the limits.

    Of a key that stands twice the last one counts, unless it is refused: Kubernetes would take one of the two.
    `resolve` says what an unquoted word means, for tools that read otherwise than kubectl.
    """
    if "&" in text and "*" in text:
        check_limits(text, depth=MAX_MANIFEST_DEPTH, values=None)  # files have a largest size
    yield from _Builder(text, whole_numbers, refuse_twice, resolve).documents()


def load(text: str) -> Any:
    """The first document, with whole numbers; None if there is none."""
    return next(load_all(text), None)


def _wrong(what: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=event.start_mark)


class _Builder:
    """Builds values straight from the parser's events: several times quicker than by way of YAML nodes."""

    def __init__(self, text: str, whole_numbers: bool, refuse_twice: bool, resolve: Callable[[str], Scalar]) -> None:
        self._parser = _PARSER(text)
        self._resolve = resolve
        self._whole_numbers = whole_numbers
        self._refuse_twice = refuse_twice
        self._anchors: dict[str, Any] = {}
        self._seen: dict[str, Any] = {}
        self._depth = 0

    def documents(self) -> Iterator[Any]:
        following = self._parser.get_event
        while (event := following()) is not None:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
                yield self._value(following())

    def _value(self, event: Any) -> Any:
        self._depth += 1
        if self._depth > MAX_MANIFEST_DEPTH:
            raise LimitExceeded(too_deep(MAX_MANIFEST_DEPTH), event.start_mark)
        try:
            return self._built(event)
        finally:
            self._depth -= 1

    def _built(self, event: Any) -> Any:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            value = self._scalar(event)
        elif kind is yaml.MappingStartEvent:
            return self._mapping(event)
        elif kind is yaml.SequenceStartEvent:
            value = []
            if event.anchor:
                self._anchors[event.anchor] = value
            following = self._parser.get_event
            while type(item := following()) is not yaml.SequenceEndEvent:
                value.append(self._value(item))
            return value
        else:
            if event.anchor not in self._anchors:
                raise _wrong(f"unknown anchor '{event.anchor}' referenced", event)
            return self._anchors[event.anchor]
        if event.anchor:
            self._anchors[event.anchor] = value
        return value

    def _scalar(self, event: Any) -> Any:
        text = event.value
        if not event.implicit[0]:
            if event.tag is None or event.tag == "!" or event.tag in _TAGS or event.implicit[1]:
                return text
            return self._tagged(event.tag, text)
        seen = self._seen
        if text in seen:
            return seen[text]
        value = self._resolve(text)
        if type(value) is int and not self._whole_numbers:
            value = float(value)
        seen[text] = value
        return value

    def _tagged(self, tag: str, text: str) -> Any:
        value = self._resolve(text)
        if tag == "tag:yaml.org,2002:float" and isinstance(value, int):
            return float(value)
        return float(value) if type(value) is int and not self._whole_numbers else value

    def _mapping(self, start: Any) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        if start.anchor:
            self._anchors[start.anchor] = mapping
        merged: list[Any] = []
        following = self._parser.get_event
        while type(event := following()) is not yaml.MappingEndEvent:
            if type(event) is yaml.ScalarEvent:
                if event.implicit[0] and event.value == "<<":
                    merged.append(self._value(following()))
                    continue
                key = event.value if not event.implicit[0] else _key(self._resolve(event.value), event)
                if event.anchor:
                    self._anchors[event.anchor] = key
            else:
                key = _key(self._value(event), event)
            if self._refuse_twice and key in mapping:
                raise _wrong(f"the key {key!r} twice", event)
            mapping[key] = self._value(following())
        for source in merged:
            for table in source if isinstance(source, list) else [source]:
                if not isinstance(table, dict):
                    raise _wrong("map merge requires map or sequence of maps as the value", start)
                for key, value in table.items():
                    mapping.setdefault(key, value)
        return mapping


def _key(value: Any, event: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    raise _wrong("a key must be text, a number or a bool", event)
