"""Take a cluster away: only what carries its tags, or proves by its certificate to be its own. The secrets stay."""

from __future__ import annotations

from dataclasses import dataclass, field

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.plan.builder import PlanBuilder, Selection
from talosmith.plan.step import Plan
from talosmith.steps.machines import DestroyMachine
from talosmith.steps.removal import ResetNode


@dataclass(frozen=True, slots=True, kw_only=True)
class DestroyOptions:
    selection: Selection = field(default_factory=Selection)
    creates: bool = True  # the provider made the machines, and takes them away; else they are reset and stay


def build(desired: Desired, observed: Observed, options: DestroyOptions) -> Plan:
    plan = PlanBuilder("destroy", desired.cluster.name)
    for name, seen in (*observed.nodes.items(), *observed.others.items()):
        if isinstance(seen.machine, Unknown):
            plan.block(f"it is not known whether {name} has a machine: {seen.machine.why}")
        elif isinstance(seen.machine, Machine):
            _destroy(plan, name, seen, options)
    return plan.freeze(options.selection)


def _destroy(plan: PlanBuilder, name: str, seen: NodeSeen, options: DestroyOptions) -> None:
    if options.creates:  # found by its tags
        plan.add(DestroyMachine(name), "it belongs to this cluster")
    elif seen.stranger:
        plan.note(f"{name} is left alone: {seen.stranger}")
    elif seen.configured:
        plan.add(ResetNode(name), "it proves to be a node of this cluster")
    elif isinstance(seen.stage, Unknown):
        plan.note(f"{name} does not answer and is left as it is: {seen.stage.why}")
