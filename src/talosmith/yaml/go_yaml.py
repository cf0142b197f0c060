"""Reads YAML as kubectl does, which is as Go's library does: neither quite YAML 1.1 nor 1.2.

`defaultMode: 0644` is an octal number, `yes` a boolean, `1e3` a number; but `12:30` and `2026-01-01` are text.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as _Base
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as _Base  # type: ignore[assignment]

_BOOLEANS = {
    **{word: True for plain in ("y", "yes", "true", "on") for word in (plain, plain.title(), plain.upper())},
    **{word: False for plain in ("n", "no", "false", "off") for word in (plain, plain.title(), plain.upper())},
}
_DIGITS = "0123456789"
_MERGE = "tag:yaml.org,2002:merge"


class Loader(_Base):
    """Refuses keys that stand twice, which Kubernetes would take for one of them."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        self._refuse_twice(node)
        self.flatten_mapping(node)  # what is merged in comes first, so that the mapping's own keys win
        return {self._key(key): self.construct_object(value, deep=deep) for key, value in node.value}

    def _refuse_twice(self, node: Any) -> None:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self._key(key_node)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} twice", key_node.start_mark)
            seen.add(key)

    def _key(self, node: Any) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a key that is no scalar", node.start_mark)
        return key_text(self.construct_object(node, deep=True))


def key_text(key: Any) -> str:
    """Keys are text in JSON."""
    return json.dumps(key) if isinstance(key, bool | int | float | None) else str(key)


def _integer(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node).replace("_", "")
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    if len(digits) > 1 and digits[0] == "0" and digits[1] in _DIGITS:
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _float(loader: Any, node: Any) -> float:
    return float(loader.construct_scalar(node).replace("_", ""))


def _boolean(loader: Any, node: Any) -> bool:
    return _BOOLEANS[loader.construct_scalar(node)]


for tag, pattern, first in (
    ("bool", "|".join(_BOOLEANS), "yYnNtTfFoO"),
    ("int", r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)", f"-+{_DIGITS}"),
    ("float", r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?", f"-+.{_DIGITS}"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", "<<", "<"),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))

Loader.add_constructor("tag:yaml.org,2002:bool", _boolean)
Loader.add_constructor("tag:yaml.org,2002:int", _integer)
Loader.add_constructor("tag:yaml.org,2002:float", _float)
