"""Following the machine status of a node, without trusting that a watch says anything at all.

A call may be carried out and its answer lost. A watch of that kind stays silent until the limit of the step.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from talosmith.talos import MachineStatus, NotReady, TalosNode
from talosmith.waiting import limited

_FIRST = 10.0  # seconds


async def statuses(node: TalosNode) -> AsyncGenerator[MachineStatus, None]:
    """The machine status of the node, then each new one.

    A watch begins with the present one. If that was lost, nothing else may ever come, so `NotReady` is raised.
    """
    async with aclosing(node.watch_machine_status()) as watched:
        async with limited(_FIRST) as limit:
            async for status in watched:
                first = status
                break
            else:
                return
        if limit.over:
            raise NotReady(node.name, f"no machine status within {_FIRST:g} s")
        yield first
        async for status in watched:
            yield status
