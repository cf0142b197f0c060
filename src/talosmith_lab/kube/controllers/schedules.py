"""The times that a CronJob's schedule names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_NAMED = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES: tuple[tuple[tuple[str, ...], int], ...] = ((_MONTHS, 1), (_WEEKDAYS, 0))  # and the number of the first
_LONGEST = 5 * 366  # days that are looked through


@dataclass(frozen=True, slots=True)
class Schedule:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool  # a day of the month or of the week will do, as both are given

    def after(self, moment: float) -> float | None:
        """The first time after a moment."""
        at = datetime.fromtimestamp(moment, UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        for _ in range(_LONGEST):
            if at.month in self.months and self._day(at):
                found = self._within(at)
                if found is not None:
                    return found.timestamp()
            at = (at + timedelta(days=1)).replace(hour=0, minute=0)
        return None

    def _day(self, at: datetime) -> bool:
        day, weekday = at.day in self.days, at.isoweekday() % 7 in self.weekdays
        return day or weekday if self.either else day and weekday

    def _within(self, at: datetime) -> datetime | None:
        for hour in sorted(one for one in self.hours if one >= at.hour):
            first = at.minute if hour == at.hour else 0
            minutes = [one for one in self.minutes if one >= first]
            if minutes:
                return at.replace(hour=hour, minute=min(minutes))
        return None


@lru_cache(maxsize=256)
def read(text: str) -> Schedule:
    """Raises `ValueError`."""
    parts = _NAMED.get(text, text).split()
    if len(parts) != len(_RANGES):
        raise ValueError(f"expected exactly 5 fields, found {len(parts)}: {text}")
    minutes, hours, days, months, weekdays = (
        _values(part, *_RANGES[place], place) for place, part in enumerate(parts)
    )
    return Schedule(minutes, hours, days, months, weekdays, either="*" not in (parts[2][0], parts[4][0]))


def _values(text: str, low: int, high: int, place: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span in ("*", "?"):
            first, last = low, high
        else:
            start, _, end = span.partition("-")
            first = _number(start, place)
            last = _number(end, place) if end else high if step else first
        if not low <= first <= last <= high + (place == 4):
            raise ValueError(f"{part} is not between {low} and {high}")
        found.update(one % 7 if place == 4 else one for one in range(first, last + 1, int(step or 1)))
    return frozenset(found)


def _number(text: str, place: int) -> int:
    if place >= 3:
        names, first = _NAMES[place - 3]
        if text.lower() in names:
            return names.index(text.lower()) + first
    return int(text)
