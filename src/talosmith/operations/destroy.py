"""Take a cluster away: only what carries its tags, or proves by its certificate to be its own. The secrets stay.

Some of its nodes only: then the cluster goes on without them, and each is taken out of it first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.operations.removal import members_by_name, take_out
from talosmith.plan.builder import PlanBuilder, Selection
from talosmith.plan.step import Plan
from talosmith.steps.machines import DestroyMachine
from talosmith.steps.removal import ResetNode


@dataclass(frozen=True, slots=True, kw_only=True)
class DestroyOptions:
    selection: Selection = field(default_factory=Selection)
    creates: bool = True  # the provider made the machines, and takes them away; else they are reset and stay
    destroy_calls: tuple[str, ...] = ()  # of the provider, on its host: besides the machine's own


def build(desired: Desired, observed: Observed, options: DestroyOptions) -> Plan:
    plan = PlanBuilder("destroy", desired.cluster.name)
    goes_on = _goes_on(desired, observed, options.selection)
    for name, seen in observed.everybody.items():
        if options.selection.targets and name not in options.selection.targets:
            continue
        if isinstance(seen.machine, Unknown):
            plan.block(f"it is not known whether {name} has a machine: {seen.machine.why}")
        elif isinstance(seen.machine, Machine) and _may_go(plan, name, seen, options):
            if goes_on:
                _take_out(plan, observed, name, seen, options)
            else:
                _destroy(plan, name, options)
    if goes_on and any(name in desired.nodes for name in options.selection.targets):
        plan.note("what the inventory still has, the next `talosmith up` makes anew")
    return plan.freeze(options.selection)


def _goes_on(desired: Desired, observed: Observed, selection: Selection) -> bool:
    """Whether a control plane stays."""
    others = [name for name, seen in observed.others.items() if seen.leads]
    staying = {*(node.name for node in desired.controlplanes), *others} - set(selection.targets)
    return bool(selection.targets and staying)


def _may_go(plan: PlanBuilder, name: str, seen: NodeSeen, options: DestroyOptions) -> bool:
    if options.creates:  # found by its tags
        return True
    if seen.stranger:
        plan.note(f"{name} is left alone: {seen.stranger}")
    elif isinstance(seen.stage, Unknown):
        plan.note(f"{name} does not answer and is left as it is: {seen.stage.why}")
    return seen.configured and not seen.stranger


def _destroy(plan: PlanBuilder, name: str, options: DestroyOptions) -> None:
    if options.creates:
        plan.add(DestroyMachine(name, options.destroy_calls), "it belongs to this cluster")
    else:
        plan.add(ResetNode(name), "it proves to be a node of this cluster")


def _take_out(plan: PlanBuilder, observed: Observed, name: str, seen: NodeSeen, options: DestroyOptions) -> None:
    """With all the care that a node gets which leaves the inventory."""
    if seen.leads and not members_by_name(observed) and observed.bootstrapped is not False:
        plan.block(f"whether etcd needs {name} is not known: no control plane says who its members are")
        return
    calls = options.destroy_calls
    take_out(plan, observed, name, seen, "it was asked for", plan.keys(), creates=options.creates, host_calls=calls)
