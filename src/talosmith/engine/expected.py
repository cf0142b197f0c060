"""How long steps take, from earlier runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median

from talosmith.events import Event
from talosmith.plan.step import kind_of


def medians(runs: Iterable[Iterable[Event]]) -> Mapping[str, float]:
    """Seconds by kind of step, of all steps that changed something. The median is robust against one odd run."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for events in runs:
        began: dict[str, float] = {}
        for event in events:
            if event.kind == "step-started":
                began[event.step] = event.at
            elif event.kind == "step-done" and event.data.get("changed") and event.step in began:
                took = event.at - began[event.step]
                if took >= 0:  # the clock may have been set back
                    seconds[kind_of(event.step, event.subject)].append(took)
    return {kind: median(times) for kind, times in seconds.items()}
