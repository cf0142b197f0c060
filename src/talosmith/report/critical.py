"""Critical path of a plan or a run, and the transitive reduction of its needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talosmith.report.follow import StepSeen


def expected_time(steps: Iterable[tuple[str, Iterable[str], float | None]]) -> tuple[float, bool]:
    """Seconds that (key, needs, seconds) take if all run as early as they can, and whether all times are known.

    Steps come after what they need, as plans have them.
    """
    ends: dict[str, float] = {}
    known = True
    for key, needs, seconds in steps:
        known = known and seconds is not None
        ends[key] = max((ends.get(need, 0.0) for need in needs), default=0.0) + (seconds or 0.0)
    return max(ends.values(), default=0.0), known


def critical_path(steps: Mapping[str, StepSeen], latest: float) -> list[str]:
    """Keys, first to last: from the step that ended last, back over the need that was ready last, each time.

    What never ended (the run was killed) counts as ended at `latest`.
    """
    ran = {key: latest if step.ended is None else step.ended for key, step in steps.items() if step.began is not None}
    path: list[str] = []
    candidates = ran
    while candidates:
        last = max(candidates, key=lambda key: (candidates[key], key))
        if last in path:  # a recording that claims a circle
            break
        path.append(last)
        candidates = {need: ran[need] for need in steps[last].needs if need in ran}
    return path[::-1]


def without_implied(needs: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Needs of each step without those that another of its needs implies. Steps come after their needs."""
    bits: dict[str, int] = {}
    behind: dict[str, int] = {}  # all that stands before a step, a bit each: sets would not do for thousands in a row
    kept: dict[str, list[str]] = {}
    for place, (key, direct) in enumerate(needs.items()):
        known = [need for need in dict.fromkeys(direct) if need in behind]
        implied = 0
        for need in known:
            implied |= behind[need]
        kept[key] = [need for need in known if not implied & bits[need]]
        bits[key] = 1 << place
        behind[key] = implied
        for need in kept[key]:
            behind[key] |= bits[need]
    return kept
