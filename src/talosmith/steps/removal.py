"""Resetting nodes: what is wiped is lost, so only nodes that prove to be this cluster's are reset."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from talosmith.errors import Temporary
from talosmith.plan.step import Disruption, Report, Stage
from talosmith.steps.action import OnNode
from talosmith.steps.context import Context
from talosmith.talos import InMaintenance, TalosNode, Unreachable
from talosmith.waiting import until

# What makes it a node of a cluster. Talos itself stays, to boot into maintenance mode, and so do user volumes.
_WIPED = ("STATE", "EPHEMERAL")
_ON_EPHEMERAL = ("ETCD", "CRI", "KUBELET", "LOG")  # unless the machine config gives one a partition: Talos 1.14


@dataclass(frozen=True, slots=True)
class ResetNode(OnNode):
    """To maintenance mode, without machine config and data. The node's certificate proves that it is this cluster's.

    Leaving etcd is a step of its own, unless the whole cluster is destroyed.
    """

    verb: ClassVar[str] = "reset"
    stage: ClassVar[Stage] = "removal"
    limit: ClassVar[float] = 600.0
    makes: ClassVar[tuple[str, ...]] = ("talos:Reset",)

    @property
    def disruption(self) -> Disruption:
        return "wipe"

    def describe(self) -> str:
        return "reset node to maintenance mode"

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
        partitions = (
            *_WIPED,
            *(one.name for one in await node.volumes() if one.name in _ON_EPHEMERAL and one.location),
        )
        context.check_lock()
        await node.reset(graceful=False, reboot=True, partitions=partitions)
        resetting = partial(report, phase="resetting")
        await until(lambda: _is_empty(node), resetting, "waiting for the node to be reset")


async def _is_empty(node: TalosNode) -> bool | None:
    """In maintenance mode again. A machine that stays off is as empty: in a container, there is nothing to boot."""
    try:
        await node.version(timeout=5.0)
    except InMaintenance:
        return True
    except Unreachable as wrong:
        raise Temporary(str(wrong)) from None
    return None
