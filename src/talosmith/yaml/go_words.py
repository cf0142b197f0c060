"""What an unquoted word means to Go's YAML library, which reads YAML 1.2 with habits of 1.1.

Every tool that a file of ours must agree with reads with it, each in its own version: Talos and talosctl, sops, and
kubectl and Helm. A word read differently here would make a wrong MAC, or another config than a node runs with. A
quoted word is always text.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

Scalar = str | int | float | bool | None

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(NULLS),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
BOOLEANS_1_1: Final[dict[str, bool]] = {
    form: value
    for value, words in ((True, ("y", "yes", "on")), (False, ("n", "no", "off")))
    for word in words
    for form in (word, word.capitalize(), word.upper())
}
_NOT_ALWAYS_TEXT = frozenset("+-.0123456789~nNtTfF")
_NUMERIC = frozenset("+-0123456789")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_GROUPED = re.compile(r"(?<=[0-9])_(?=[0-9])")
_INTEGERS = (
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)\Z"), 16),
    (re.compile(r"([-+]?)0[bB]([01]+)\Z"), 2),
    (re.compile(r"([-+]?)0[oO]([0-7]+)\Z"), 8),
    (re.compile(r"([-+]?)0([0-7]+)\Z"), 8),
    (re.compile(r"([-+]?)(0|[1-9][0-9]*)\Z"), 10),
)
_SIGNED_DIGITS = re.compile(r"0(?:b(?P<binary>[-+][01]+)|o(?P<octal>[-+][0-7]+))\Z")
_LONGEST_INTEGER = 70  # 64 binary digits, a sign and a prefix
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")
_TIME = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:"
    r"[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,](\d+))?(Z|[-+]\d\d:\d\d)"
    r"| +(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,](\d+))?)?\Z",
    re.ASCII,
)


class Timestamp(str):
    """A YAML time, as RFC 3339 text. Python's datetime would lose nanoseconds."""

    __slots__ = ()


@lru_cache(maxsize=8192)
def resolve(word: str) -> Scalar:
    """As Talos reads. A date is text, because nothing in a machine config is one."""
    if word and word[0] not in _NOT_ALWAYS_TEXT:
        return word
    if word in _WORDS:
        return _WORDS[word]
    return -0.0 if word == "-0" else _number(word)


def resolve_for_sops(word: str) -> Scalar:
    """As sops reads: a date is a time, and the digits behind `0b` and `0o` may carry the sign."""
    if signed := _SIGNED_DIGITS.match(word.replace("_", "")):
        return int(signed["binary"], 2) if signed["binary"] else int(signed["octal"], 8)
    return time(word) or (0 if word == "-0" else resolve(word))


@lru_cache(maxsize=8192)
def resolve_for_kubernetes(word: str) -> Scalar:
    """As kubectl and Helm read: with the booleans of YAML 1.1, and dates as text."""
    return BOOLEANS_1_1[word] if word in BOOLEANS_1_1 else resolve(word)


def is_text_since_1_2(text: str) -> bool:
    """Whether it is text in YAML 1.2, and a bool, a number or a merge key in YAML 1.1."""
    return text in BOOLEANS_1_1 or text == "<<" or (text[:1] in _NUMERIC and _BASE_60.match(text) is not None)


def stays_text(text: str) -> bool:
    """Whether every reader of YAML 1.1 or 1.2 takes the text, unquoted, for text; go-yaml quotes the others."""
    if type(resolve(text)) is not str or is_text_since_1_2(text):
        return False
    return text[0] not in _NUMERIC or not time(text)


def _number(word: str) -> Scalar:
    if word[0] == ".":
        return _float(_GROUPED.sub("", word), word)
    if word[0] not in _NUMERIC:
        return word
    digits = word.replace("_", "")
    if len(digits) <= _LONGEST_INTEGER:
        for pattern, base in _INTEGERS:
            if found := pattern.match(digits):
                number = int(found[1] + found[2], base)
                if -(1 << 63) <= number < 1 << 63 or (0 < number < 1 << 64 and not found[1]):
                    return number
    return _float(digits, word)


def _float(digits: str, word: str) -> Scalar:
    if _FLOAT.match(digits) and math.isfinite(number := float(digits)):
        return number
    return word


def time(word: str) -> Timestamp | None:
    """The time that the word says, if it says one."""
    if word[4:5] != "-" or not (found := _TIME.match(word)):
        return None
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    clock = found.group(4, 5, 6, 7) if found[4] else found.group(9, 10, 11, 12)
    hour, minute, second = (int(part or 0) for part in clock[:3])
    zone = "Z" if found[8] in (None, "+00:00", "-00:00") else found[8]
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not (1 <= month <= 12 and 1 <= day <= days[month - 1] and hour < 24 and minute < 60 and second < 60):
        return None
    if zone != "Z" and (int(zone[1:3]) > 24 or int(zone[4:]) > 60):  # Go takes an offset of 24 hours
        return None
    fraction = (clock[3] or "")[:9].rstrip("0")
    seconds = f"{second:02}.{fraction}" if fraction else f"{second:02}"
    return Timestamp(f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{seconds}{zone}")
