"""What `up` does not do, however it is asked: each with the reason and the way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.desired.target import Desired
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.plan.builder import PlanBuilder


def refuse(plan: PlanBuilder[Any], desired: Desired, observed: Observed) -> None:
    taken = {address: name for name, seen in observed.everybody.items() for address in seen.places}
    for name, seen in observed.nodes.items():
        _stranger(plan, name, seen)
        if isinstance(seen.machine, Unknown):
            plan.block(f"it is not known whether {name} has a machine: {seen.machine.why}")
        _address(plan, name, str(desired.nodes[name].machine.ip), seen, taken)
        _version(plan, desired, name, seen)


def _stranger(plan: PlanBuilder[Any], name: str, seen: NodeSeen) -> None:
    if seen.stranger:
        plan.block(f"{name}: {seen.stranger}; nothing is done to a machine that is not proven to be this cluster's")


def _address(plan: PlanBuilder[Any], name: str, wanted: str, seen: NodeSeen, taken: Mapping[str, str]) -> None:
    """Neither a node's address changes in place nor the name at one: somebody would be waited for in vain."""
    if wanted in seen.places:
        return
    if there := taken.get(wanted):
        plan.block(
            f"{name} is to have {wanted}, where {there} still is: give it another address, or take {there} away "
            f"first with `talosmith destroy --target {there}`"
        )
    elif seen.is_elsewhere(wanted):
        plan.block(
            f"{name} answers at {seen.address}, and the inventory says {wanted}: put that back, or take the node "
            f"away first with `talosmith destroy --target {name}`, and it is made anew at its new address"
        )


def _version(plan: PlanBuilder[Any], desired: Desired, name: str, seen: NodeSeen) -> None:
    wanted = str(desired.cluster.talos_version)
    if seen.configured and isinstance(seen.talos_version, str) and seen.talos_version not in ("", wanted):
        plan.note(
            f"{name} runs Talos {seen.talos_version}, the inventory says {wanted}: that is an upgrade, not `up`"
        )
