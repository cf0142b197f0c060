"""Waiting until a control plane's components run with the machine config that was applied without a reboot.

Talos writes the new static pods at once; the kubelet asks for them every 20 seconds, and until then the old API
server says that it is ready. Talos marks each static pod with the versions it was made from, and the kubelet copies
the marks to the pod that it runs: as long as they differ, the change is not over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from talosmith.errors import Temporary
from talosmith.plan.step import Report
from talosmith.steps.context import Context
from talosmith.waiting import between_looks, until

_MARKS = "talos.dev/"
_LOOKS = 2  # Talos takes a moment to rewrite the static pods


async def until_components_current(context: Context, name: str, report: Report) -> None:
    for _ in range(_LOOKS):
        await asyncio.sleep(between_looks(simulated=context.provider.simulated))
        await until(lambda: _current(context, name), report, f"waiting for static pods of {name} to be updated")


async def _current(context: Context, name: str) -> bool:
    node = context.configured(name)
    wanted = [one.spec for one in await node.list("staticpods") if isinstance(one.spec, dict)]
    if not wanted:
        return True
    params = {"fieldSelector": f"spec.nodeName={await node.nodename()}"}
    answer = await context.kube_at(name).caller.ask(
        "GET", "/api/v1/namespaces/kube-system/pods", params=params, about="static pods", attempts=1
    )
    running = {marks for pod in answer.item.get("items") or () if (marks := _marks(pod))}
    for pod in wanted:
        if (marks := _marks(pod)) and marks not in running:
            raise Temporary(f"{pod['metadata'].get('name')} still runs with the earlier machine config")
    return True


def _marks(pod: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """What the pod was made from, with the component's name: versions alone may be equal by chance."""
    metadata = pod.get("metadata") or {}
    marks = {(key, value) for key, value in (metadata.get("annotations") or {}).items() if key.startswith(_MARKS)}
    component = (metadata.get("labels") or {}).get("k8s-app", "")
    return frozenset({*marks, ("k8s-app", component)}) if marks else frozenset()
