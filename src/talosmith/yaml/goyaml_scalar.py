"""How go-yaml writes a single value: plain, in single quotes or in double quotes.

Double quotes are for what a reader of YAML 1.2 takes for a number, a date, a bool or nothing; single quotes for what
only cannot stand plain, and, as Talos 1.14 has it (1.13 takes double ones), for what YAML 1.1 reads otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from talosmith.errors import TalosmithError
from talosmith.govalues import format_float
from talosmith.yaml.go_words import is_text_since_1_2, stays_text

LONGEST_SIMPLE_KEY = 128  # bytes; a longer key is written behind a question mark

# The line and the paragraph separator count as line breaks and may stand; other odd breaks are escaped.
BREAKS = "\n\u2028\u2029"
BREAK = re.compile(f"[{BREAKS}]")

# Compiled when first needed: sets this wide take longer to compile than most configs to write.
_UNPRINTABLE = r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]"
_TO_ESCAPE = r"[^\x20\x21\x23-\x5b\x5d-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]"
_compiled = cache(re.compile)
_SHORT_ESCAPES = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e",
    '"': '"', "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip

# Text that none of the rules below objects to, but for the words: most of a machine config.
_HARMLESS = re.compile(r"[A-Za-z/_$(][A-Za-z0-9_./@=+$()-]*(?::[A-Za-z0-9_./@=+$()-]+)*")
_NOT_PLAIN = re.compile(r"[#,\[\]{}&*!|>'\"%@`]|[?:-](?: |\Z)|---|\.\.\.| |.*(?: #|: |:\Z| \Z)")

_WORDS = frozenset(
    form
    for word in ("true", "false", "null", "y", "n", "yes", "no", "on", "off")
    for form in (word, word.capitalize(), word.upper())
) | {"~", "<<"}


def unprintable(text: str) -> bool:
    """Whether there is something in it that cannot stand in YAML as it is."""
    if text.isascii() and text.isprintable():
        return False
    return _compiled(_UNPRINTABLE).search(text) is not None


@lru_cache(maxsize=16384)
def inline(text: str) -> str:
    """The text on one line. Empty if it has line breaks: then its place decides about its form."""
    if _HARMLESS.fullmatch(text):
        return text if text not in _WORDS else f"'{text}'" if is_text_since_1_2(text) else f'"{text}"'
    if BREAK.search(text):
        return ""
    if not text or unprintable(text) or "\t" in text or not (stays_text(text) or is_text_since_1_2(text)):
        return f'"{escaped(text)}"'
    if _NOT_PLAIN.match(text) or is_text_since_1_2(text):
        return "'" + text.replace("'", "''") + "'"
    return text


@lru_cache(maxsize=4096)
def simple_key(key: str) -> str:
    """The key as it stands before its colon. Empty if it is too long for that, or has line breaks."""
    if "\r" in key or "\x85" in key:  # breaks as well, though they are escaped
        return ""
    form = inline(key)
    return form if len(key) * 4 <= LONGEST_SIMPLE_KEY or len(key.encode()) <= LONGEST_SIMPLE_KEY else ""


class Octal(int):
    """A number that is written in octal, such as the mode of a file."""


def textless(value: Any) -> str:
    """A number, a bool, nothing, or a collection without content."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:#o}" if isinstance(value, Octal) else str(int(value))
    if isinstance(value, float):
        if math.isfinite(value):
            return format_float(value)
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, (list, tuple)) and not value:
        return "[]"
    if isinstance(value, Mapping) and not value:
        return "{}"
    raise TypeError(f"YAML has no place for a value of type {type(value).__name__} here")


def escaped(text: str) -> str:
    """What stands between double quotes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TalosmithError(
            "a text holds half of a character (a lone surrogate), which YAML cannot hold",
            hint="Give the whole character in the file that the text comes from.",
        ) from None
    if text.startswith("\ufeff"):  # go-yaml takes all that follows a byte order mark for marks too
        return "".join(map(_escape, text))
    to_escape: re.Pattern[str] = _compiled(_TO_ESCAPE)
    return to_escape.sub(lambda match: _escape(match[0]), text)


def _escape(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return "\\" + _SHORT_ESCAPES[character]
    code = ord(character)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
