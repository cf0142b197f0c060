"""The cluster as a whole: is it healthy?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from talosmith.plan.step import Report, Stage
from talosmith.steps.action import OnCluster
from talosmith.steps.context import Context
from talosmith.waiting import between_looks

_TO_REPORT = 5.0  # seconds: this step, not the runner, knows the root cause and has an exit code of its own


@dataclass(frozen=True, slots=True)
class Healthy(OnCluster):
    """Every check of `talosmith health`, several times in a row."""

    verb: ClassVar[str] = "health"
    stage: ClassVar[Stage] = "health"
    seconds: float = 900.0

    @property
    def limit(self) -> float:  # type: ignore[override]
        return self.seconds + _TO_REPORT

    def describe(self) -> str:
        return "check cluster health"

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
            machines=context.machines_now,
            folder=context.options.folder,
            ends_without_cni=True,
        )
