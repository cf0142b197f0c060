"""What an unquoted scalar means to go-yaml, which reads YAML 1.2 with a few habits of 1.1.

A quoted one is always text. Where a field has a type, the type has the last word (see `scalars`); this decides alone
only in free-form maps.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

NULLS = frozenset({"", "~", "null", "Null", "NULL"})

_WORDS: dict[str, object] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(NULLS),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys(("-0", "-0.0"), -0.0),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


@lru_cache(maxsize=4096)
def resolve(text: str) -> object:
    """The value of a plain scalar: None, a bool, a number or text. A date stays text: nothing in a config is one."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first == ".":
        return _float(text) if _FLOAT.fullmatch(text) else text
    if first not in "+-0123456789":
        return text
    number = text.replace("_", "")
    if _INTEGER.fullmatch(number):
        value = _integer(number)
        if -(1 << 63) <= value < 1 << 64:
            return value
    return _float(number, text) if _FLOAT.fullmatch(number) else text


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        digits = "0o" + digits[1:]  # a leading nought alone means octal too
    value = int(digits, 0)
    return -value if text[0] == "-" else value


def _float(number: str, text: str = "") -> float | str:
    value = float(number)
    return value if math.isfinite(value) else text or number
