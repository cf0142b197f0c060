"""Scalars as SOPS sees them: what a YAML word means, and the one text of a value that is hashed and sealed.

SOPS reads YAML with go-yaml, so its idea of a number, a time or a boolean is the one that counts: with another idea
the MAC of a file would come out wrong, or `017` would be sealed as another number than `sops` shows.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from talosmith.errors import SecretsError
from talosmith.model.secret import Secret
from talosmith.sops.tree import Timestamp, place_of

Scalar = str | int | float | bool | None

WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NOT_ALWAYS_TEXT = frozenset("+-.0123456789~nNtTfF")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_GROUPED = re.compile(r"(?<=[0-9])_(?=[0-9])")
_INTEGERS = (  # in the order tried; the digits may carry a second sign after 0b and 0o, as in Go
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)\Z"), 16),
    (re.compile(r"([-+]?)0[bB]([01]+)\Z"), 2),
    (re.compile(r"([-+]?)0[oO]([0-7]+)\Z"), 8),
    (re.compile(r"([-+]?)0([0-7]+)\Z"), 8),
    (re.compile(r"([-+]?)(0|[1-9][0-9]*)\Z"), 10),
    (re.compile(r"()0b([-+][01]+)\Z"), 2),
    (re.compile(r"()0o([-+][0-7]+)\Z"), 8),
)
_LONGEST_INTEGER = 70  # 64 binary digits, a sign and a prefix
_TIME = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:"
    r"[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,](\d+))?(Z|[-+]\d\d:\d\d)"
    r"| (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,](\d+))?)?\Z",
    re.ASCII,
)
_BOOLEANS = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}


def resolve(word: str) -> Scalar:
    """What an unquoted YAML word means. Integers beyond 64 bits come back as they are; `checked` refuses them."""
    if word and word[0] not in _NOT_ALWAYS_TEXT:
        return word
    if word in WORDS:
        return WORDS[word]
    if word[0] == ".":
        return _float(_GROUPED.sub("", word), word)
    if word[0] not in "+-0123456789":
        return word
    return _time(word) or _number(word)


def _number(word: str) -> Scalar:
    digits = word.replace("_", "")
    if len(digits) <= _LONGEST_INTEGER:
        for pattern, base in _INTEGERS:
            if found := pattern.match(digits):
                number = int(found[1] + found[2], base)
                if _fits(number) or (0 < number < 1 << 64 and not found[1]):
                    return number
    return _float(digits, word)


def _float(digits: str, word: str) -> Scalar:
    if _FLOAT.match(digits) and math.isfinite(number := float(digits)):
        return number
    return word


def _time(word: str) -> Timestamp | None:
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
    if zone != "Z" and (int(zone[1:3]) > 23 or int(zone[4:]) > 59):
        return None
    fraction = (clock[3] or "")[:9].rstrip("0")
    seconds = f"{second:02}.{fraction}" if fraction else f"{second:02}"
    return Timestamp(f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{seconds}{zone}")


def checked(value: Any, path: str) -> Scalar:
    """A value of the types SOPS knows, or an error that names the place (never the value)."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, datetime):
        known = value if value.tzinfo else value.replace(tzinfo=UTC)
        return _time(known.isoformat())
    if isinstance(value, date):
        return Timestamp(f"{value.isoformat()}T00:00:00Z")
    if isinstance(value, int) and not _fits(value):
        raise SecretsError(
            f"the integer at {place_of(path)} does not fit 64 bits", hint="write it in quotes, as a string"
        )
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise SecretsError(
        f"the value at {place_of(path)} is a {type(value).__name__}, which SOPS does not know",
        hint="use strings, numbers, booleans, times, lists and mappings",
    )


def text_of(value: Scalar) -> str:
    """The text that is hashed and sealed, as Go prints it."""
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, float):
        return _float_text(value)
    return str(value)


def _float_text(value: float) -> str:
    """The shortest digits that give the number back, never with an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0") if "." in text else text


def type_of(value: Scalar) -> str:
    """SOPS' name of the value's type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    return "time" if isinstance(value, Timestamp) else "str"


def from_text(text: str, type_name: str) -> Scalar:
    """The value behind a sealed text; ValueError if the text is not of that type."""
    if type_name in ("str", "bytes"):
        return text
    if type_name == "int":
        return int(text)
    if type_name == "float":
        return float(text)
    if type_name == "bool" and text in _BOOLEANS:
        return _BOOLEANS[text]
    if type_name == "time" and (time := _time(text)):
        return time
    raise ValueError(type_name)


def _fits(number: int) -> bool:
    return -(1 << 63) <= number < 1 << 63
