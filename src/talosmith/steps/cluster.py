"""The cluster as a whole: is it healthy?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from talosmith.plan.step import Report, Stage
from talosmith.steps.action import OnCluster
from talosmith.steps.context import Context
from talosmith.waiting import between_looks

_TO_SAY_SO = 5.0  # seconds: it knows better than the runner what is missing, and has an exit code of its own


@dataclass(frozen=True, slots=True)
class Healthy(OnCluster):
    """Every condition that `talosmith health` looks at, several times in a row."""

    verb: ClassVar[str] = "health"
    stage: ClassVar[Stage] = "health"
    seconds: float = 900.0

    @property
    def limit(self) -> float:  # type: ignore[override]
        return self.seconds + _TO_SAY_SO

    def describe(self) -> str:
        return "check that everything is healthy"

    async def run(self, context: Context, report: Report) -> None:
        from talosmith.observed.health import wait_healthy

        desired = context.desired
        await wait_healthy(
            desired,
            context.talos,
            context.kube(),
            report=report,
            limit=self.seconds,
            reach=context.reach,
            between=between_looks(simulated=context.provider.simulated),
        )
