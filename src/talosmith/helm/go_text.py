"""Values as text, as Go's fmt package writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gotpl._compat.gofmt.go import sprintf as _sprintf

from talosmith.govalues import format_float


def formatted(value: Any) -> str:
    """`%v`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, (bytes, bytearray)):
        return f"[{' '.join(map(str, value))}]"
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{formatted(value[key])}' for key in sorted(value))}]"
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(map(formatted, value))}]"
    return str(value)


def float_text(value: float) -> str:
    """The fewest digits that say it, with an exponent from a million on and below a ten-thousandth."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 1e6:
        return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    return format_float(value)


def printf(template: str, *values: Any) -> str:
    """`fmt.Sprintf`; the shapes that charts use all the time are done here, the others by gotpl."""
    simple = _simple(template, values)
    return _sprintf(template, *values) if simple is None else simple


def _simple(template: str, values: tuple[Any, ...]) -> str | None:
    if template.count("%") != len(values):
        return None
    pieces = template.split("%")
    out = [pieces[0]]
    for piece, value in zip(pieces[1:], values, strict=True):
        piece = piece.removeprefix("+") if piece.startswith("+v") else piece  # field names of structs; there are none
        verb = piece[:1]
        if verb == "s" and isinstance(value, str):
            out.append(value)
        elif verb in ("s", "q", "d") and isinstance(value, (list, tuple, Mapping)):
            out.append(_each("%" + verb, value))
        elif verb == "v":
            out.append(formatted(value))
        elif verb == "d" and type(value) is int:
            out.append(str(value))
        elif verb.isalpha():
            out.append(_sprintf("%" + verb, value))
        else:
            return None  # flags and widths
        out.append(piece[1:])
    return "".join(out)


def _each(verb: str, value: Any) -> str:
    """A verb reaches into lists and maps."""
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{printf(verb, key)}:{_each(verb, value[key])}' for key in sorted(value))}]"
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(_each(verb, item) for item in value)}]"
    return "<nil>" if value is None else printf(verb, value)


def sprint(*values: Any) -> str:
    """`fmt.Sprint`: a blank between two values that are both no text."""
    out: list[str] = []
    for index, value in enumerate(values):
        if index and not isinstance(value, str) and not isinstance(values[index - 1], str):
            out.append(" ")
        out.append(formatted(value))
    return "".join(out)


def sprintln(*values: Any) -> str:
    return " ".join(map(formatted, values)) + "\n"
