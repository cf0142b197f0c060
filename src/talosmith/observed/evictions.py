"""What a drain or a reboot of nodes would do to their pods. Only reads: no eviction is tried."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from talosmith.errors import TalosmithError
from talosmith.model.evictions import Evictions

if TYPE_CHECKING:
    from talosmith.kube import KubeClient

_ANSWER = 8.0  # seconds for all nodes: a plan is shown without its pods rather than late
_AT_ONCE = 16


async def look_at_evictions(kube: KubeClient, nodes: Iterable[str]) -> dict[str, Evictions]:
    """By node. Pods that could not be read are unknown, with the reason; the plan is made all the same."""
    names, found = list(nodes), dict[str, Evictions]()
    asking = asyncio.Semaphore(_AT_ONCE)

    async def look(name: str) -> None:
        async with asking:
            found[name] = await _look(kube, name)

    why = f"no answer from the Kubernetes API within {_ANSWER:g} s"
    try:
        async with asyncio.timeout(_ANSWER):
            await asyncio.gather(*map(look, names))
    except TimeoutError:
        pass
    except TalosmithError as wrong:
        why = str(wrong)
    return {name: found.get(name, Evictions(unknown=why)) for name in names}


async def _look(kube: KubeClient, node: str) -> Evictions:
    from talosmith.kube import budgets_of, pods_on

    pods = [pod for pod in await pods_on(kube, node) if not pod.stays and not pod.leaving]
    budgets = await budgets_of(kube, pods) if pods else []
    return Evictions(
        pods=len(pods),
        blocking=tuple(f"{one.ref.namespace}/{one.ref.name}" for one in budgets if one.allowed < 1),
        bare=tuple(str(pod) for pod in pods if pod.bare),
        empty_dir=sum(pod.has_empty_dir for pod in pods),
    )
