"""The way through the safety gate: no step disturbs a control plane but by this.

etcd and the Kubernetes API of every control plane are looked at right before the act, and again after it, before the
next control plane may be disturbed. One that does not come back keeps the gate shut for all others, to the run's end.
What the plan found out earlier is not relied on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from talosmith.errors import Permanent
from talosmith.observed.etcd import look_at_etcd
from talosmith.plan.gate import Act, EtcdView, Verdict, judge, judge_after
from talosmith.plan.step import Report
from talosmith.steps.context import Context
from talosmith.waiting import until

_DOWN = "see `talosmith status` and the node's console; then re-run the same command"


@dataclass(frozen=True, slots=True)
class ControlPlanes:
    """All control planes, as the gate found them: etcd, and why an API is not ready (empty: ready)."""

    etcd: EtcdView | None
    apis: dict[str, str]


@asynccontextmanager
async def through_gate(
    context: Context, name: str, act: Act, controlplane: bool, report: Report
) -> AsyncIterator[None]:
    """Inside, the act is allowed, and no other control plane's turn. Workers pass at once.

    The body may be run a second time for the same control plane after an error, and must then not act again. Until
    the look after the act has passed, `context.disturbed` names the control plane.
    """
    if not controlplane:
        yield
        return
    report("waiting for other control planes: one is disrupted at a time")
    async with context.turn:
        _check_open(context, name)
        before = await until(lambda: _allowed(context, name, act, report), report, "etcd")
        context.disturbed = name
        yield
        await until(lambda: _over(context, name, act, before, report), report, f"waiting for {name}")
        context.disturbed = ""


async def check_gate(context: Context, name: str, act: Act, report: Report) -> None:
    """Wait until the act would be allowed, for a step that only prepares it (drain before a removal)."""
    async with context.turn:
        _check_open(context, name)
        await until(lambda: _allowed(context, name, act, report), report, "etcd", stop=context.stop_wanted)


def _check_open(context: Context, name: str) -> None:
    if context.disturbed not in ("", name):
        raise Permanent(
            f"{name} is left alone: control plane {context.disturbed} was disturbed in this run, and etcd and the "
            "Kubernetes API are not proven healthy since",
            hint=_DOWN,
        )


async def _allowed(context: Context, name: str, act: Act, report: Report) -> ControlPlanes | None:
    """The control planes once they allow the act. A refusal may pass within the step's limit: a member catches up."""
    found = await look(context, name)
    verdict = judge(act, name, found.etcd, found.apis)
    if verdict:
        report(verdict.reason)
        return found
    back = f"{name} has not come back yet" if context.disturbed == name else "not allowed yet"
    report(f"{back}: {verdict.reason}", _DOWN)
    return None


async def _over(context: Context, name: str, act: Act, before: ControlPlanes, report: Report) -> Verdict | None:
    found = await look(context, name)
    verdict = judge_after(act, name, before.etcd, found.etcd, before.apis, found.apis)
    if verdict:
        report(verdict.reason)
        return verdict
    what = f"removal of {name} is not over yet" if act == "remove" else f"{name} has not come back yet"
    report(f"{what}: {verdict.reason}", _DOWN)
    return None


async def look(context: Context, name: str) -> ControlPlanes:
    """etcd by every control plane that answers, and the API of each that is an etcd member, and of `name`."""
    from talosmith.observed.control_planes import api_readiness

    names = context.all_controlplanes
    etcd = await look_at_etcd([context.configured(one) for one in names])
    members = {member.name for member in etcd.members} if etcd is not None else set()
    asked = [one for one in names if one in members or one == name]
    return ControlPlanes(etcd, await api_readiness({one: context.kube_at(one) for one in asked}))
