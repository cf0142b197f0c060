"""How long steps take, learned from earlier runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median

from talosmith.events import Event
from talosmith.plan.step import kind_of


def medians(runs: Iterable[Iterable[Event]]) -> Mapping[str, float]:
    """By kind of step, over all that had something to do. One odd run does not spoil it."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for events in runs:
        began: dict[str, float] = {}
        for event in events:
            if event.kind == "step-started":
                began[event.step] = event.at
            elif event.kind == "step-done" and event.data.get("changed") and event.step in began:
                took = event.at - began[event.step]
                if took >= 0:  # the clock may have been set meanwhile
                    seconds[kind_of(event.step, event.subject)].append(took)
    return {kind: median(times) for kind, times in seconds.items()}
