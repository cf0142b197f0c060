"""Take a cluster away: only what carries its tags, or proves by its certificate to be its own. The secrets stay.

Some of its nodes only: then the cluster goes on without them, and each is taken out of it first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.operations.removal import Forecast, concerns_etcd, members_by_name, take_out
from talosmith.plan.builder import PlanBuilder, Selection
from talosmith.plan.step import Plan
from talosmith.providers.base import HostCalls
from talosmith.steps.context import Context
from talosmith.steps.machines import DestroyMachine
from talosmith.steps.removal import ResetNode


@dataclass(frozen=True, slots=True, kw_only=True)
class DestroyOptions:
    selection: Selection = field(default_factory=Selection)
    creates: bool = True  # the provider made the machines, and takes them away; else they are reset and stay
    host_calls: HostCalls = field(default_factory=dict)


def build(desired: Desired, observed: Observed, options: DestroyOptions) -> Plan[Context]:
    plan = PlanBuilder[Context]("destroy", desired.cluster.name)
    forecast = Forecast(observed.etcd())
    goes_on = _goes_on(desired, observed, options)
    for name, seen in observed.everybody.items():
        if options.selection.targets and name not in options.selection.targets:
            continue
        if isinstance(seen.machine, Unknown):
            plan.block(f"it is not known whether {name} has a machine: {seen.machine.why}")
        elif isinstance(seen.machine, Machine) and _may_go(plan, name, seen, options):
            if goes_on:
                _take_out(plan, observed, name, seen, forecast, options)
            else:
                _destroy(plan, name, options)
    again = [name for name in options.selection.targets if name in desired.nodes]
    if goes_on and again and plan.keys():
        plan.note(f"the inventory still has {', '.join(again)}: the next `talosmith up` creates it again")
    return plan.freeze(options.selection)


def _goes_on(desired: Desired, observed: Observed, options: DestroyOptions) -> bool:
    """Whether a control plane stays, or may stay: one that is not found may count on the etcd of the targets."""
    targets = options.selection.targets
    others = {name for name, seen in observed.others.items() if _may_be_controlplane(observed, name, seen, options)}
    return bool(targets and {*(node.name for node in desired.controlplanes), *others} - {*targets})


def _may_be_controlplane(observed: Observed, name: str, seen: NodeSeen, options: DestroyOptions) -> bool:
    if isinstance(seen.machine, Unknown):
        return seen.etcd is not None
    if seen.machine is None:  # gone, if the provider lists machines; else only where it is, is not known
        return not options.creates and name in members_by_name(observed)
    return seen.leads


def _may_go(plan: PlanBuilder[Context], name: str, seen: NodeSeen, options: DestroyOptions) -> bool:
    if options.creates:  # found by its tags
        return True
    if seen.stranger:
        plan.note(f"{name} is left alone: {seen.stranger}")
    elif isinstance(seen.stage, Unknown):
        plan.note(f"{name} does not answer and is left as it is: {seen.stage.why}")
    return seen.configured and not seen.stranger


def _destroy(plan: PlanBuilder[Context], name: str, options: DestroyOptions) -> None:
    if options.creates:
        plan.add(DestroyMachine(name, options.host_calls.get("destroy", ())), "it belongs to this cluster")
    else:
        plan.add(ResetNode(name), "it proves to be a node of this cluster")


def _take_out(
    plan: PlanBuilder[Context],
    observed: Observed,
    name: str,
    seen: NodeSeen,
    forecast: Forecast,
    options: DestroyOptions,
) -> None:
    """With all the care that a node gets which leaves the inventory.

    Nothing in this plan heals etcd, so a removal that the gate would hold back is refused before anything is touched.
    """
    verdict = None
    if concerns_etcd(observed, name, seen) and observed.bootstrapped is not False:
        if not members_by_name(observed):
            plan.block(f"whether etcd needs {name} is not known: no control plane lists etcd's members")
            return
        verdict = forecast.remove(name)
        if not verdict:
            plan.block(f"{name} stays: {verdict.reason}; repair the control plane first (`talosmith up`)")
            return
    calls = options.host_calls.get("destroy", ()) if options.creates else None
    take_out(plan, observed, name, seen, "it was asked for", plan.keys(), verdict, destroying=calls)
