"""Writes YAML as Kubernetes' library does, which is Helm's `toYaml`, byte for byte: charts hash and compare the text.

Most values are short words, which are written here. A document that holds anything else is given to libyaml, which
Go's library was ported from, with each text's form chosen as Go chooses it.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from talosmith.govalues import format_float
from talosmith.yaml.go_order import sorted_keys
from talosmith.yaml.go_words import stays_text

_WIDTH = 80
_PLAIN = re.compile(r"[A-Za-z_/$(.][A-Za-z0-9_./@=+$()-]*(?::[A-Za-z0-9_./@=+$()-]+)*(?: [A-Za-z0-9_./@=+$()]+)*")
_QUOTED = re.compile(r"[A-Za-z0-9_.:+~<-]*")


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
    if not _stays_text(text):
        if _QUOTED.fullmatch(text):
            return f'"{text}"'
        raise _Hard
    if _PLAIN.fullmatch(text) and not text.startswith("..."):
        return text
    raise _Hard


def _stays_text(text: str) -> bool:
    """This version of the library leaves a merge key plain."""
    return text == "<<" or (text != "" and stays_text(text))


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
    return format_float(value)


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
        style = "|" if "\n" in value else None if _stays_text(value) else '"'
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
