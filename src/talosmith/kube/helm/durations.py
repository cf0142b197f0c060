"""Helm's functions on durations (`durationSeconds "2m"` and its kin)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")


class GoDuration(int):
    """Nanoseconds, printed as Go does: 1h30m0s."""

    def __str__(self) -> str:
        total = abs(int(self))
        sign = "-" if self < 0 else ""
        if total == 0:
            return "0s"
        for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
            if total < size * 1000:
                return f"{sign}{_decimal(total, size)}{unit}"
        hours, rest = divmod(total, 3600 * 10**9)
        minutes, rest = divmod(rest, 60 * 10**9)
        lead = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
        return f"{sign}{lead}{_decimal(rest, 10**9)}s"


def _decimal(amount: int, size: int) -> str:
    whole, rest = divmod(amount, size)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).zfill(len(str(size)) - 1).rstrip('0')}"


def to_duration(value: Any) -> GoDuration:
    """A duration from text, or from a number of seconds."""
    if isinstance(value, GoDuration):
        return value
    if isinstance(value, str):
        text = value.strip()
        parts = _PART.findall(text.lstrip("+-"))
        if parts and "".join(number + unit for number, unit in parts) == text.lstrip("+-"):
            total = sum(_exact(number, _NANOSECONDS[unit]) for number, unit in parts)
            return GoDuration(-total if text.startswith("-") else total)
        return GoDuration(int(float(text) * 10**9))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"unsupported duration type {type(value).__name__}")
    return GoDuration(int(value * 10**9))


def _exact(number: str, size: int) -> int:
    whole, _, rest = number.partition(".")
    return int(whole or "0") * size + (int(rest) * size // 10 ** len(rest) if rest else 0)


def _in(unit: int, *, whole: bool = False) -> Callable[[Any], int | float]:
    def convert(value: Any) -> int | float:
        try:
            nanoseconds = int(to_duration(value))
        except (TypeError, ValueError):
            return 0 if whole else 0.0
        if whole:
            return nanoseconds // unit if nanoseconds >= 0 else -(-nanoseconds // unit)
        return nanoseconds / unit

    return convert


def _to_multiple(*, rounding: bool) -> Callable[[Any, Any], GoDuration]:
    def convert(value: Any, multiple: Any) -> GoDuration:
        try:
            duration = to_duration(value)
        except (TypeError, ValueError):
            return GoDuration(0)
        try:
            unit = int(to_duration(multiple))
        except (TypeError, ValueError):
            return duration
        if unit <= 0:
            return duration
        count, rest = divmod(abs(int(duration)), unit)
        if rounding and rest + rest >= unit:
            count += 1
        return GoDuration(count * unit if duration >= 0 else -count * unit)

    return convert


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mustToDuration": to_duration,
    "durationSeconds": _in(10**9),
    "durationMilliseconds": _in(10**6, whole=True),
    "durationMicroseconds": _in(10**3, whole=True),
    "durationNanoseconds": _in(1, whole=True),
    "durationMinutes": _in(60 * 10**9),
    "durationHours": _in(3600 * 10**9),
    "durationDays": _in(24 * 3600 * 10**9),
    "durationWeeks": _in(7 * 24 * 3600 * 10**9),
    "durationRoundTo": _to_multiple(rounding=True),
    "durationTruncateTo": _to_multiple(rounding=False),
}
