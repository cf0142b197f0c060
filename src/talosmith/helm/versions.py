"""Versions of charts: which of those that exist is meant, and which are near one that does not exist."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable
from typing import Any

_SEMVER = re.compile(r"v?([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?")
_RANGE = re.compile(r"[<>=~^*|, ]|(?:^|\.)[xX](?:\.|$)")
_NOT_SEMVER = (-1,)


def newest_first(version: str) -> tuple[Any, ...]:
    """Sorts versions: a pre-release comes before its release, its numbers count as numbers."""
    match = _SEMVER.fullmatch(version)
    if match is None:
        return _NOT_SEMVER
    numbers = tuple(int(part) for part in match.groups()[:3])
    if match[4] is None:
        return (*numbers, 1, ())
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in match[4].split("."))
    return (*numbers, 0, parts)


def is_exact(version: str) -> bool:
    """Whether it names one version, and not a range or the newest."""
    return bool(version) and _RANGE.search(version) is None and version.count(".") >= 2


def choose(known: Iterable[str], wanted: str) -> str | None:
    """The newest version that fits; without one that is wanted, the newest that is no pre-release."""
    present = list(known)
    if wanted in present:
        return wanted
    fitting = [one for one in present if _fits(one, wanted)]
    return max(fitting, key=newest_first) if fitting else None


def near(known: Iterable[str], wanted: str) -> list[str]:
    """Up to five versions that exist, around the one that does not; the newest is among them."""
    ordered = sorted((one for one in known if newest_first(one) != _NOT_SEMVER), key=newest_first)
    if not ordered:
        return []
    place = bisect([newest_first(one) for one in ordered], newest_first(wanted))
    around = ordered[max(place - 2, 0) : place + 2]
    return list(dict.fromkeys([*around, ordered[-1]]))


def _fits(candidate: str, wanted: str) -> bool:
    if _SEMVER.fullmatch(candidate) is None:
        return False
    if not wanted:
        return "-" not in candidate
    from talosmith.helm.ranges import in_range  # which imports the template functions

    return in_range(wanted, candidate)
