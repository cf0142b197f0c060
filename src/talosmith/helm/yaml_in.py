"""Reads YAML as Helm does: YAML 1.1 words for bools, all keys text, aliases and merges resolved, dates stay text.

Helm turns YAML into JSON before it looks at it, so every number of a chart's values is a floating-point number; that
shows in the output (1000000 is printed as 1e+06) and must be kept. Manifests are read with whole numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from talosmith.helm.errors import ChartError
from talosmith.yaml.limits import MAX_MANIFEST_DEPTH, LimitExceeded, check_limits, too_deep

_PARSER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TRUE = {form for word in ("y", "yes", "true", "on") for form in (word, word.capitalize(), word.upper())}
_FALSE = {form for word in ("n", "no", "false", "off") for form in (word, word.capitalize(), word.upper())}
_WORDS: dict[str, Any] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{f"{sign}.{word}": math.inf for sign in ("", "+") for word in ("inf", "Inf", "INF")},
    **{f"-.{word}": -math.inf for word in ("inf", "Inf", "INF")},
}
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGER = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)",
)
_TAGS = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:binary"}


def load(text: str, *, whole_numbers: bool = False) -> Any:
    """The first document of the text; nothing for an empty one."""
    for document in load_all(text, whole_numbers=whole_numbers):
        return document
    return None


def load_all(text: str, *, whole_numbers: bool = False) -> Iterator[Any]:
    """Every document of the text."""
    builder = _Builder(text, whole_numbers)
    try:
        if "&" in text and "*" in text:
            check_limits(text, depth=MAX_MANIFEST_DEPTH, values=None)  # files have a largest size
        yield from builder.documents()
    except LimitExceeded as problem:
        raise ChartError(f"line {problem.line}: {problem.what}") from None
    except yaml.YAMLError as problem:
        raise ChartError(f"this is no YAML: {_one_line(problem)}") from None


def resolve(text: str) -> Any:
    """What a word without quotes stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    plain = text.replace("_", "") if text[0] != "." else text
    if _INTEGER.fullmatch(plain):
        number = _integer(plain)
        if -(1 << 63) <= number < 1 << 64:
            return number
    if _FLOAT.fullmatch(plain):
        value = float(plain)
        if math.isfinite(value):
            return value
    return text


def as_values(value: Any) -> Any:
    """The value with every number a floating-point number, as values are after their way through JSON."""
    if isinstance(value, dict):
        return {key: as_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_values(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _integer(plain: str) -> int:
    sign = -1 if plain[0] == "-" else 1
    digits = plain.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _one_line(problem: yaml.YAMLError) -> str:
    mark = getattr(problem, "problem_mark", None)
    said = getattr(problem, "problem", None) or str(problem).splitlines()[0]
    return f"line {mark.line + 1}: {said}" if mark is not None else str(said)


class _Builder:
    """Builds values straight from the parser's events: several times quicker than by way of YAML nodes."""

    def __init__(self, text: str, whole_numbers: bool) -> None:
        self._parser = _PARSER(text)
        self._whole_numbers = whole_numbers
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
                raise yaml.YAMLError(f"unknown anchor '{event.anchor}' referenced")
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
        value = resolve(text)
        if type(value) is int and not self._whole_numbers:
            value = float(value)
        seen[text] = value
        return value

    def _tagged(self, tag: str, text: str) -> Any:
        value = resolve(text)
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
                key = event.value if not event.implicit[0] else _key(resolve(event.value))
                if event.anchor:
                    self._anchors[event.anchor] = key
            else:
                key = _key(self._value(event))
            mapping[key] = self._value(following())
        for source in merged:
            for table in source if isinstance(source, list) else [source]:
                if not isinstance(table, dict):
                    raise yaml.YAMLError("map merge requires map or sequence of maps as the value")
                for key, value in table.items():
                    mapping.setdefault(key, value)
        return mapping


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    raise yaml.YAMLError("a key must be text, a number or a bool")
