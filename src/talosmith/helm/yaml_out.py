"""Writes YAML as the template function `toYaml` does, byte for byte: templates indent, hash and compare that text.

Most values are short words, which are written here. A document that holds anything else is given to libyaml, which
Go's library was ported from, with each text's form chosen as Go chooses it.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cmp_to_key, lru_cache
from typing import Any

import yaml

from talosmith.helm.yaml_in import resolve

_WIDTH = 80
_PLAIN = re.compile(r"[A-Za-z_/$(.][A-Za-z0-9_./@=+$()-]*(?::[A-Za-z0-9_./@=+$()-]+)*(?: [A-Za-z0-9_./@=+$()]+)*")
_QUOTED = re.compile(r"[A-Za-z0-9_.:+~<-]*")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:(?:[Tt]| +)[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})?)?"
)


class _Hard(Exception):
    """The document holds something that is not written here."""


def to_yaml(value: Any) -> str:
    """The value as YAML without the last line break."""
    out: list[str] = []
    try:
        _write(value, 0, out)
        return "".join(out).lstrip("\n ") if isinstance(value, (dict, list, tuple)) else "".join(out).strip()
    except _Hard:
        return _by_libyaml(value)


def _write(value: Any, column: int, out: list[str]) -> None:
    """Appends the value to a line that ends behind a colon or a dash."""
    if isinstance(value, dict) and value:
        lead = "\n" + " " * column
        for key in sorted_keys(value):
            out.append(f"{lead}{_scalar(key)}:")
            item = value[key]
            if isinstance(item, (list, tuple)) and item:
                _items(item, column, out)
            else:
                _write(item, column + 2, out)
    elif isinstance(value, (list, tuple)) and value:
        _items(value, column, out)
    else:
        out.append(" " + _scalar(value))
        _refuse_long(value, len(out[-2] if len(out) > 1 else "") + len(out[-1]))


def _items(items: Any, column: int, out: list[str]) -> None:
    lead = "\n" + " " * column + "-"
    for item in items:
        if isinstance(item, (dict, list, tuple)) and item:
            inner: list[str] = []
            _write(item, column + 2, inner)
            out.append(lead + " " + "".join(inner).lstrip("\n "))
        else:
            out.append(f"{lead} {_scalar(item)}")
            _refuse_long(item, len(out[-1]))


def _refuse_long(value: Any, columns: int) -> None:
    """A line that is too long is folded at a blank, where there is one."""
    if columns > _WIDTH and isinstance(value, str) and " " in value:
        raise _Hard


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    return _without_text(value)


@lru_cache(maxsize=8192)
def _text(text: str) -> str:
    if _typed(text):
        if _QUOTED.fullmatch(text):
            return f'"{text}"'
        raise _Hard
    if _PLAIN.fullmatch(text) and not text.startswith("..."):
        return text
    raise _Hard


def _typed(text: str) -> bool:
    """Whether the text, without quotes, would be read as something else."""
    if text == "" or (text[0] in "+-0123456789" and (_BASE_60.fullmatch(text) or _TIMESTAMP.fullmatch(text))):
        return True
    return not isinstance(resolve(text), str)


def _without_text(value: Any) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (bytes, bytearray)):
        return _text(base64.b64encode(value).decode())
    if isinstance(value, (dict, Mapping)):
        if value:
            raise _Hard
        return "{}"
    if isinstance(value, (list, tuple)):
        return "[]"
    return _text(str(value))


def number(value: float) -> str:
    """A floating-point number after its way through JSON: whole ones lose their point, very big ones get a power."""
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    if value == int(value) and -(1 << 63) <= value < 1 << 64:
        return str(int(value))
    shortest = Decimal(repr(value)).normalize()
    power = shortest.adjusted()
    if -4 <= power < 6:
        return format(shortest, "f")
    mantissa = format(shortest.scaleb(-power), "f")
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """Keys in Go's order: letters behind other characters, digits by the number they form."""
    keys = list(mapping)
    if len(keys) < 2:
        return keys
    if all(type(key) is str and key.isalpha() for key in keys):
        return sorted(keys)
    return sorted(keys, key=_in_go_order)


def _compare(left: Any, right: Any) -> int:
    first, second = str(left), str(right)
    for index in range(min(len(first), len(second))):
        one, other = first[index], second[index]
        if one == other:
            continue
        if one.isalpha() and other.isalpha():
            return -1 if one < other else 1
        if one.isalpha() or other.isalpha():
            return -1 if other.isalpha() else 1
        return _compare_digits(first, second, index)
    return len(first) - len(second)


def _compare_digits(first: str, second: str, index: int) -> int:
    carried = ""
    if "0" in (first[index], second[index]):
        before = index - 1
        while before >= 0 and first[before].isdigit():
            if first[before] != "0":
                carried = "1"
                break
            before -= 1
    numbers = []
    ends = []
    for text in (first, second):
        end = index
        while end < len(text) and text[end].isdigit():
            end += 1
        numbers.append(int((carried + text[index:end]) or "0"))
        ends.append(end)
    if numbers[0] != numbers[1]:
        return -1 if numbers[0] < numbers[1] else 1
    if ends[0] != ends[1]:
        return ends[0] - ends[1]
    return -1 if first[index] < second[index] else 1


_in_go_order = cmp_to_key(_compare)

_STR = "tag:yaml.org,2002:str"
_SEQ = "tag:yaml.org,2002:seq"
_MAP = "tag:yaml.org,2002:map"
_DUMPER: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_DUMPER):  # type: ignore[misc, unused-ignore]
    """Every scalar is given with its form, so nothing is to be resolved."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _by_libyaml(value: Any) -> str:
    text: str = yaml.serialize(_node(value), Dumper=_Dumper, allow_unicode=True, width=_WIDTH)
    return text.removesuffix("\n...\n").removesuffix("\n")


def _node(value: Any) -> yaml.Node:
    if isinstance(value, (dict, Mapping)):
        pairs = [(_node(str(key)), _node(value[key])) for key in sorted_keys(value)]
        return yaml.MappingNode(_MAP, pairs, flow_style=not pairs)
    if isinstance(value, (list, tuple)):
        return yaml.SequenceNode(_SEQ, [_node(item) for item in value], flow_style=not value)
    if isinstance(value, str):
        style = "|" if "\n" in value else '"' if _typed(value) else None
        return yaml.ScalarNode(_STR, value, style=style)
    if isinstance(value, (bytes, bytearray)):
        return _node(base64.b64encode(value).decode())
    return yaml.ScalarNode(_STR, _without_text(value))


class _PrettyDumper(yaml.SafeDumper):
    """Lists stand two blanks deeper than their key."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def to_yaml_pretty(value: Any) -> str:
    """`toYamlPretty`."""
    text: str = yaml.serialize(_node(value), Dumper=_PrettyDumper, allow_unicode=True, width=1 << 30)
    return text.removesuffix("\n...\n").removesuffix("\n")
