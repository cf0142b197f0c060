"""Take a cluster away: only what carries its tags, or proves by its certificate to be its own. The secrets stay.

Some of its nodes only: then the cluster goes on without them, and each is taken out of it first.
"""

from __future__ import annotations

from dataclasses import dataclass

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.operations.operation import Facts, Options
from talosmith.operations.removal import Forecast, concerns_etcd, members_by_name, take_out
from talosmith.operations.resources import delete_all, deleted_before_machines
from talosmith.plan.builder import PlanBuilder
from talosmith.plan.step import Plan
from talosmith.providers.base import Capabilities
from talosmith.steps.context import Context
from talosmith.steps.machines import DestroyMachine
from talosmith.steps.removal import ResetNode


@dataclass(frozen=True, slots=True, kw_only=True)
class DestroyOptions(Options):
    """Targets: these nodes; none: the whole cluster."""


def build(desired: Desired, observed: Observed, options: DestroyOptions, facts: Facts) -> Plan[Context]:
    can = facts.capabilities
    plan = PlanBuilder[Context]("destroy", desired.cluster.name)
    forecast = Forecast(observed.etcd())
    goes_on = _goes_on(desired, observed, options, can)
    for name, seen in observed.everybody.items():
        if options.selection.targets and name not in options.selection.targets:
            continue
        if isinstance(seen.machine, Unknown):
            plan.block(f"it is not known whether {name} has a machine: {seen.machine.why}")
        elif isinstance(seen.machine, Machine) and _may_go(plan, name, seen, can):
            if goes_on:
                _take_out(plan, observed, name, seen, forecast, can)
            else:
                _destroy(plan, observed, name, can)
    if not options.selection.targets:
        delete_all(plan, desired, observed)
    again = [name for name in options.selection.targets if name in desired.nodes]
    if goes_on and again and plan.keys():
        plan.note(f"the inventory still has {', '.join(again)}: the next `talosmith up` creates it again")
    return plan.freeze(options.selection)


def _goes_on(desired: Desired, observed: Observed, options: DestroyOptions, can: Capabilities) -> bool:
    """Whether a control plane stays, or may stay: one that is not found may count on the etcd of the targets."""
    targets = options.selection.targets
    others = {name for name, seen in observed.others.items() if _may_be_controlplane(observed, name, seen, can)}
    return bool(targets and {*(node.name for node in desired.controlplanes), *others} - {*targets})


def _may_be_controlplane(observed: Observed, name: str, seen: NodeSeen, can: Capabilities) -> bool:
    if isinstance(seen.machine, Unknown):
        return seen.etcd is not None
    if seen.machine is None:  # gone, if the provider lists machines; else only where it is, is not known
        return not can.creates and name in members_by_name(observed)
    return seen.leads


def _may_go(plan: PlanBuilder[Context], name: str, seen: NodeSeen, can: Capabilities) -> bool:
    if can.creates:  # found by its tags
        return True
    if seen.stranger:
        plan.note(f"{name} is left alone: {seen.stranger}")
    elif isinstance(seen.stage, Unknown):
        plan.note(f"{name} does not answer and is left as it is: {seen.stage.why}")
    return seen.configured and not seen.stranger


def _destroy(plan: PlanBuilder[Context], observed: Observed, name: str, can: Capabilities) -> None:
    if can.creates:
        needs = deleted_before_machines(observed)
        plan.add(DestroyMachine(name, can.calls("destroy")), "it belongs to this cluster", needs=needs)
    else:
        plan.add(ResetNode(name), "it proves to be a node of this cluster")


def _take_out(
    plan: PlanBuilder[Context],
    observed: Observed,
    name: str,
    seen: NodeSeen,
    forecast: Forecast,
    can: Capabilities,
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
    take_out(plan, observed, name, seen, "it was asked for", plan.keys(), verdict, can)
