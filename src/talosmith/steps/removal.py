"""Taking a node's Talos away: what is erased is gone, so it is done to nodes that prove to be ours only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from talosmith.errors import Temporary
from talosmith.plan.step import Disruption, Report, Stage
from talosmith.steps.action import OnNode
from talosmith.steps.context import Context
from talosmith.talos import InMaintenance, TalosNode, Unreachable
from talosmith.waiting import until

_LEFT = ("STATE", "EPHEMERAL")  # what makes it a node of a cluster; Talos itself stays, to boot into maintenance mode


@dataclass(frozen=True, slots=True)
class ResetNode(OnNode):
    """Back to maintenance mode, without its config and its data. Its client certificate is the proof that it is ours.

    It does not leave etcd here: that is a step of its own, or the whole cluster goes.
    """

    verb: ClassVar[str] = "reset"
    stage: ClassVar[Stage] = "removal"
    limit: ClassVar[float] = 600.0
    makes: ClassVar[tuple[str, ...]] = ("talos:Reset",)

    @property
    def disruption(self) -> Disruption:
        return "wipe"

    def describe(self) -> str:
        return "erase its config and data, back to maintenance mode"

    async def done(self, context: Context) -> bool:
        try:
            await context.configured(self.name).version(timeout=5.0)
        except InMaintenance:
            return True
        except Temporary:
            return False
        return False

    async def run(self, context: Context, report: Report) -> None:
        node = context.configured(self.name)
        context.may_write()
        await node.reset(graceful=False, reboot=True, partitions=_LEFT)
        await until(lambda: _is_empty(node), report, "waiting for it to be erased")


async def _is_empty(node: TalosNode) -> bool | None:
    """In maintenance mode again. A machine that stays off is as empty: in a container, there is nothing to boot."""
    try:
        await node.version(timeout=5.0)
    except InMaintenance:
        return True
    except Unreachable as wrong:
        raise Temporary(str(wrong)) from None
    return None
