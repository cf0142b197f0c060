"""Rolling turns: which nodes may be disturbed at the same time, as edges between the steps that disturb them.

Control planes take turns one by one, and no worker is disturbed meanwhile. Workers take turns `max_unavailable` at a
time: each waits for the end of the turn that many workers before it, so a slow node holds back one place only. At the
time of the act a control plane also passes the safety gate; what is decided here holds for workers, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Any

from talosmith.plan.builder import PlanBuilder
from talosmith.plan.step import StepKey


class Turns:
    """Turns of the steps that are added from now on, after what the plan has so far.

    Whatever heals comes first, but for steps on nodes that are `changing`: the change may be what heals them. So do
    the turns of an earlier `Turns` over the same plan.
    """

    def __init__(self, plan: PlanBuilder[Any], *, changing: Container[str] = (), max_unavailable: int = 1) -> None:
        if max_unavailable < 1:
            raise ValueError(f"max_unavailable is {max_unavailable}: no node would ever get its turn")
        self._max_unavailable = max_unavailable
        self._healing = plan.keys(lambda step: step.disruption == "none" and step.subject not in changing)
        self._before = plan.keys(lambda step: step.disruption == "reboot")[-max_unavailable:]
        self._running = deque[StepKey]()  # ends of the workers' turns that may be going on, oldest first

    def take(self, first: StepKey, last: StepKey | None = None, *, is_controlplane: bool) -> list[StepKey]:
        """What the first step of a node's turn waits for; the turn is over when its `last` step is done."""
        end = last or first
        if is_controlplane:
            needs = list(self._running) or self._before
            self._before = [end]
            self._running.clear()
        else:
            full = len(self._running) == self._max_unavailable
            needs = [self._running.popleft()] if full else self._before
            self._running.append(end)
        return [*self._healing, *needs]
