"""What `up` does not do, however it is asked: each with the reason and the way out."""

from __future__ import annotations

from talosmith.desired.target import Desired
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.plan.builder import PlanBuilder


def refuse(plan: PlanBuilder, desired: Desired, observed: Observed) -> None:
    for name, seen in observed.nodes.items():
        _stranger(plan, name, seen)
        if isinstance(seen.machine, Unknown):
            plan.block(f"it is not known whether {name} has a machine: {seen.machine.why}")
        _version(plan, desired, name, seen)


def _stranger(plan: PlanBuilder, name: str, seen: NodeSeen) -> None:
    if seen.stranger:
        plan.block(f"{name}: {seen.stranger}; nothing is done to machines that are not this cluster's")


def _version(plan: PlanBuilder, desired: Desired, name: str, seen: NodeSeen) -> None:
    wanted = str(desired.cluster.talos_version)
    if seen.configured and isinstance(seen.talos_version, str) and seen.talos_version not in ("", wanted):
        plan.note(
            f"{name} runs Talos {seen.talos_version}, the inventory says {wanted}: that is an upgrade, not `up`"
        )
