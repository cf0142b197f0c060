"""Amounts such as `500m` and `1Gi`, in the one form in which the API server writes them."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from typing import Any

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"

_PATTERN = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_EXPONENTS = {suffix: exponent for exponent, suffix in _DECIMAL.items()}
NANO, MILLI = Decimal(1).scaleb(-9), Decimal(1).scaleb(-3)


def amount(text: str) -> Decimal | None:
    """The number that a quantity means; nothing if it is none."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    number, suffix = Decimal(match[1]), match[2]
    if suffix in _EXPONENTS:
        return number.scaleb(_EXPONENTS[suffix])
    if suffix in _BINARY:
        return number * Decimal(1024) ** _BINARY.index(suffix)
    return number.scaleb(int(suffix[1:]))


def canonical(value: Any, smallest: Decimal = NANO) -> Any:
    """A quantity in its one form, rounded up to the smallest part that counts; what is none stays as it is."""
    text = str(value)
    number = amount(text)
    if number is None or isinstance(value, bool | dict | list):
        return value
    number = number.quantize(smallest, ROUND_CEILING) if number % smallest else number
    if text.endswith("i") and abs(number) >= 1024 and not number % 1:
        return _binary(number)
    has_exponent = re.search("[eE][+-]?[0-9]+$", text) is not None
    return _decimal(number, exponent=has_exponent)


def _binary(number: Decimal) -> str:
    whole, power = int(number), 0
    while whole % 1024 == 0 and power < len(_BINARY) - 1:
        whole, power = whole // 1024, power + 1
    return f"{whole}{_BINARY[power]}"


def _decimal(number: Decimal, *, exponent: bool) -> str:
    """With as few digits as a suffix in steps of a thousand allows."""
    if not number:
        return "0"
    power = 18
    while power > -9 and number.scaleb(-power) % 1:
        power -= 3
    digits = f"{int(number.scaleb(-power))}"
    if exponent:
        return f"{digits}e{power}" if power else digits
    return f"{digits}{_DECIMAL[power]}"
