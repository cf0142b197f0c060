"""Plain data as YAML that people read: blocks, long text line by line, quotes only where YAML 1.2 needs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from talosmith.inventory.parse import resolve_plain

_LINE_BREAKS = "\x85\u2028\u2029"  # to YAML 1.1; they only stay as they are where they are escaped
_WIDE = 1 << 20  # lines are never folded


class Octal(int):
    """A number that is written in octal, as file modes are."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        return super().increase_indent(flow, False)


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if any(character in text for character in _LINE_BREAKS):
        style = '"'
    elif "\n" in text:
        style = "|"
    elif resolve_plain(text) != text:  # PyYAML knows what YAML 1.1 reads as a number, and no more
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _octal(dumper: _Dumper, number: Octal) -> yaml.ScalarNode:
    # To PyYAML, which speaks YAML 1.1, this is text that needs no quotes.
    return dumper.represent_scalar("tag:yaml.org,2002:str", f"0o{int(number):o}")


_Dumper.add_representer(str, _text)
_Dumper.add_representer(Octal, _octal)


def dump(data: Any) -> str:
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDE)
    return text


def dump_all(documents: Iterable[Any]) -> str:
    return "---\n".join(dump(document) for document in documents)
