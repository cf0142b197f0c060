"""Helm's hooks: objects that a chart wants created before or after its own, and Jobs that have to finish.

As Helm does: in the order of their weights, a hook of an earlier run is deleted first, a Job is waited for, and what
the chart wants deleted afterwards is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from talosmith import kube as api
from talosmith.plan.step import Report
from talosmith.steps.context import Context

if TYPE_CHECKING:  # whose modules render charts
    from talosmith.desired.addons import DesiredAddon
    from talosmith.helm import Hook

_RUN = ("Job", "Pod")  # kinds whose end is waited for
_BEFORE_CREATION, _SUCCEEDED = "before-hook-creation", "hook-succeeded"
_LIMIT = 300.0
_GONE = 60.0


async def run_hooks(context: Context, addon: DesiredAddon, hooks: Sequence[Hook], report: Report) -> None:
    """Create each hook and wait for it. A Job that fails raises `Failed` with the Job's own reason."""
    if not hooks:
        return
    kube = context.kube()
    placed = await api.placed(kube, [hook.content for hook in hooks], name="", namespace=addon.namespace)
    for hook, item in zip(hooks, placed, strict=True):
        ref = api.Ref.of(item)
        policies = hook.delete_policies or (_BEFORE_CREATION,)
        context.check_lock()
        if ref.kind in _RUN and _BEFORE_CREATION in policies:
            await _delete(kube, ref)
        await kube.apply(item, force=True)
        if ref.kind in _RUN:
            report(f"waiting for hook {ref}")
            await api.wait(kube, [api.ready(ref)], timeout=_LIMIT)
    for hook, item in zip(hooks, placed, strict=True):
        if _SUCCEEDED in hook.delete_policies:
            await kube.delete(api.Ref.of(item))


async def _delete(kube: api.KubeClient, ref: api.Ref) -> None:
    if await kube.delete(ref):
        await api.wait(kube, [api.gone(ref)], timeout=_GONE)
