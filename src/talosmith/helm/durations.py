"""Helm's functions on durations (`durationSeconds "2m"` and its kin)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from talosmith.govalues import format_duration, parse_duration


class GoDuration(int):
    """Nanoseconds, printed as Go does: 1h30m0s."""

    def __str__(self) -> str:
        return format_duration(int(self))


def to_duration(value: Any) -> GoDuration:
    """A duration from text, or from a number of seconds."""
    if isinstance(value, GoDuration):
        return value
    if isinstance(value, str):
        text = value.strip()
        with suppress(ValueError):
            return GoDuration(parse_duration(text))
        return GoDuration(int(float(text) * 10**9))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"unsupported duration type {type(value).__name__}")
    return GoDuration(int(value * 10**9))


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
