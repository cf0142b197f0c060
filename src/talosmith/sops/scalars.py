"""Scalars as SOPS sees them: the types that it knows, and the one text of a value that is hashed and sealed."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from talosmith.errors import SecretsError
from talosmith.model.secret import Secret
from talosmith.sops.tree import place_of
from talosmith.yaml.go_words import Scalar, Timestamp, time

_BOOLEANS = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}


def checked(value: Any, path: str) -> Scalar:
    """A value of the types SOPS knows, or an error that names the place (never the value)."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, datetime):
        known = value if value.tzinfo else value.replace(tzinfo=UTC)
        return time(known.isoformat())
    if isinstance(value, date):
        return Timestamp(f"{value.isoformat()}T00:00:00Z")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
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
    if type_name == "time" and (found := time(text)):
        return found
    raise ValueError(type_name)
