"""JSON text becomes a document, and a document becomes JSON text, as `sops` reads and writes it."""

from __future__ import annotations

import json
import math
from typing import Any

from talosmith.errors import SecretsError
from talosmith.sops.tree import Document, plain


def read_json(text: str, source: str) -> list[Document]:
    """The one document of a JSON file. Integers that need more than 64 bits become floats, as in SOPS."""

    def wrong(what: str) -> SecretsError:
        return SecretsError(f"{source} {what}", hint="correct the file; nothing was read from it")

    def unique(pairs: list[tuple[str, Any]]) -> Document:
        result = dict(pairs)
        if len(result) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise wrong(f"has the key {twice!r} twice")
        return result

    def number(digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            raise wrong("has a number that is too large")
        return value

    def integer(digits: str) -> int | float:
        if len(digits) <= 20 and -(1 << 63) <= (value := int(digits)) < 1 << 63:
            return value
        return number(digits)

    def constant(name: str) -> float:
        raise wrong(f"is not JSON: it holds {name}")

    try:
        document = json.loads(
            text, object_pairs_hook=unique, parse_int=integer, parse_float=number, parse_constant=constant
        )
    except json.JSONDecodeError as problem:
        raise wrong(f"is not JSON: {problem.msg} in line {problem.lineno}") from None
    except RecursionError:
        raise wrong("is nested too deep") from None
    if not isinstance(document, dict):
        raise wrong("is not an object at its top, which SOPS needs")
    return [document]


def write_json(document: Document, indent: int | str = "\t") -> str:
    """Comments have no place in JSON and are left out."""
    try:
        text = json.dumps(plain(document), ensure_ascii=False, indent=indent, allow_nan=False)
    except ValueError:
        raise SecretsError("JSON cannot hold NaN or infinity", hint="use a YAML file, or a string") from None
    for char in "<>&\u2028\u2029":  # only in strings, and escaped there by Go
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text + "\n"
