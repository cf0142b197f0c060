"""Kubernetes: waiting for its API, draining nodes, ending cordons, deleting Node objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from talosmith import kube as api
from talosmith.errors import Temporary
from talosmith.plan.step import Disruption, Report, Stage
from talosmith.steps.action import OnCluster, OnNode
from talosmith.steps.context import Context
from talosmith.steps.gate import check_gate
from talosmith.talos import sweep
from talosmith.waiting import now, until

_NAMED_AFTER = 2.0  # seconds until control planes are asked who of them keeps the API from being ready
_SHOWN = 3  # pods that are named
_BLOCKED = "free capacity on other nodes, or fix the pods or their PodDisruptionBudget; then re-run the same command"


@dataclass(frozen=True, slots=True)
class ControlPlaneUp(OnCluster):
    """The Kubernetes API answers, and says of itself that it is ready."""

    verb: ClassVar[str] = "controlplane"
    stage: ClassVar[Stage] = "api"
    limit: ClassVar[float] = 900.0

    def describe(self) -> str:
        return "wait for the Kubernetes API"

    async def done(self, context: Context) -> bool:
        try:
            return bool(await _api(context))
        except Temporary:
            return False

    async def run(self, context: Context, report: Report) -> None:
        began = now()

        async def look() -> bool | None:
            try:
                return await _api(context)
            except Temporary as wrong:
                if now() - began < _NAMED_AFTER:
                    raise
                raise Temporary(f"{wrong}{await _silent(context)}", hint=wrong.hint) from None

        await until(look, report, "waiting for the Kubernetes API")


@dataclass(frozen=True, slots=True)
class Drain(OnNode):
    """Before a removal, by the eviction API.

    Of a control plane only once the gate allows its removal: a node that must stay is not emptied. What may not be
    evicted is waited for, at first before anything is evicted. The cordon is marked as ours.
    """

    controlplane: bool = False

    verb: ClassVar[str] = "drain"
    stage: ClassVar[Stage] = "removal"
    limit: ClassVar[float] = 600.0
    makes: ClassVar[tuple[str, ...]] = ("kube:cordon", "kube:evict")

    @property
    def disruption(self) -> Disruption:
        return "drain"

    def describe(self) -> str:
        return "cordon and drain"

    async def done(self, context: Context) -> bool:
        return await api.find_node(context.kube(), self.name) is None

    async def run(self, context: Context, report: Report) -> None:
        kube = context.kube()
        if self.controlplane:
            await check_gate(context, self.name, "remove", report)
        await until(
            lambda: _all_may_leave(kube, self.name),
            report,
            "waiting for pods that must not be evicted",
            stop=context.stop_wanted,
            soon=0.5,
        )

        def report_drain(progress: api.Progress) -> None:
            if not progress.ok:
                report(f"{progress.name}: {progress.reason}", _BLOCKED)

        context.check_lock()
        await api.drain(kube, self.name, report=report_drain)


@dataclass(frozen=True, slots=True)
class Uncordon(OnNode):
    """For a node that stays, after a removal that did not finish. Only a cordon of ours is ended."""

    verb: ClassVar[str] = "uncordon"
    stage: ClassVar[Stage] = "nodes"
    limit: ClassVar[float] = 120.0
    makes: ClassVar[tuple[str, ...]] = ("kube:uncordon",)

    def describe(self) -> str:
        return "uncordon"

    async def done(self, context: Context) -> bool:
        node = await api.find_node(context.kube(), self.name)
        return node is None or node.cordoned_by != "talosmith"

    async def run(self, context: Context, report: Report) -> None:
        context.check_lock()
        await api.uncordon(context.kube(), self.name)


@dataclass(frozen=True, slots=True)
class DeleteNode(OnNode):
    verb: ClassVar[str] = "deleted"
    stage: ClassVar[Stage] = "removal"
    limit: ClassVar[float] = 120.0
    makes: ClassVar[tuple[str, ...]] = ("kube:delete",)

    def describe(self) -> str:
        return "delete Node object"

    async def done(self, context: Context) -> bool:
        return await api.find_node(context.kube(), self.name) is None

    async def run(self, context: Context, report: Report) -> None:
        context.check_lock()
        await api.delete_node(context.kube(), self.name)


async def _all_may_leave(kube: api.KubeClient, node: str) -> bool:
    blocked = (await api.simulate_drain(kube, node)).blocked
    if blocked:
        more = f" and {len(blocked) - _SHOWN} more pods" if len(blocked) > _SHOWN else ""
        raise Temporary("; ".join(str(one) for one in blocked[:_SHOWN]) + more, hint=_BLOCKED)
    return True


async def _silent(context: Context) -> str:
    """Control planes that do not answer: without enough of them etcd, and so the API, waits for ever."""
    names = [node.name for node in context.desired.controlplanes]
    found = await sweep([context.configured(name) for name in names], lambda node: node.version(timeout=5.0))
    return "".join(f"; {found.errors[name]}" for name in names if name in found.errors)


async def _api(context: Context) -> bool | None:
    health = await api.api_health(context.kube())
    if not health.ready:
        raise Temporary(f"not ready (/readyz fails: {', '.join(health.failing) or 'no reason given'})")
    return True
