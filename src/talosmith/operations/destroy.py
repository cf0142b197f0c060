"""Destroy a cluster: only what carries its tags, or proves by its certificate to belong to it. The secrets stay.

With nodes selected, the cluster continues without them, and each is removed from it first.
"""

from __future__ import annotations

from dataclasses import dataclass

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.operations.operation import Facts, Options
from talosmith.operations.refusals import block_unknown_machine
from talosmith.operations.removal import MANY, Forecast, concerns_etcd, members_by_name, take_out
from talosmith.operations.resources import delete_all, deleted_before_machines
from talosmith.plan.builder import PlanBuilder
from talosmith.plan.step import Plan, StepKey
from talosmith.providers.base import Capabilities
from talosmith.steps.context import Context
from talosmith.steps.files import DeleteClientFile
from talosmith.steps.machines import DestroyMachine
from talosmith.steps.removal import ResetNode


@dataclass(frozen=True, slots=True, kw_only=True)
class DestroyOptions(Options):
    """With nodes selected: these nodes; else the whole cluster."""

    @property
    def deletes_resources(self) -> bool:
        return not self.selection.targets


OPTIONS = DestroyOptions


def build(desired: Desired, observed: Observed, options: DestroyOptions, facts: Facts) -> Plan[Context]:
    can = facts.capabilities
    plan = PlanBuilder[Context]("destroy", desired.cluster.name)
    forecast = Forecast(observed.etcd())
    goes_on = _goes_on(desired, observed, options, can)
    for name, seen in observed.all_nodes.items():
        if options.selection.targets and name not in options.selection.targets:
            continue
        if isinstance(seen.machine, Unknown):
            block_unknown_machine(plan, observed, name, seen.machine)
        elif isinstance(seen.machine, Machine) and _may_go(plan, name, seen, can):
            if goes_on:
                _take_out(plan, observed, name, seen, forecast, can)
            else:
                _destroy(plan, observed, name, can)
    _confirm(plan, observed, can, whole=not goes_on, all_nodes=not options.selection.targets)
    if not options.selection.targets:
        delete_all(plan, desired, observed)
        for file in facts.own_files:
            plan.add(DeleteClientFile(file), "cluster no longer exists", needs=plan.keys())
    again = [name for name in options.selection.targets if name in desired.nodes]
    if goes_on and again and plan.keys():
        plan.note(f"still in the inventory, so the next `talosmith up` creates it again: {', '.join(again)}")
    return plan.freeze(options.selection)


def _confirm(
    plan: PlanBuilder[Context], observed: Observed, can: Capabilities, *, whole: bool, all_nodes: bool
) -> None:
    """The whole cluster, control planes and many nodes take more than a plain yes, as when `up` removes them."""
    gone: dict[str, list[StepKey]] = {}
    for key in plan.keys(lambda step: bool(step.subject)):
        gone.setdefault(key.subject, []).append(key)
    members = [name for name in gone if concerns_etcd(observed, name, observed.all_nodes[name])]
    steps = [key for keys in gone.values() for key in keys]
    loses = "machines and their disks are deleted" if can.creates else "nodes are reset and their data is wiped"
    if whole:
        what = "the whole cluster is" if all_nodes else "all control planes are"
        data = f"; the etcd data of {', '.join(members)} is lost" if members else ""
        plan.confirm(f"{what} destroyed: {loses}: {', '.join(gone)}{data}", of=steps)
    elif members:
        plan.confirm(
            f"control planes are removed: {', '.join(members)}", of=[key for name in members for key in gone[name]]
        )
    elif len(gone) > MANY:
        plan.confirm(f"{len(gone)} nodes are removed: {', '.join(gone)}", of=steps)


def _goes_on(desired: Desired, observed: Observed, options: DestroyOptions, can: Capabilities) -> bool:
    """Whether a control plane stays, or may stay: one that is not found may count on the etcd of the targets."""
    targets = options.selection.targets
    others = {
        name for name, seen in observed.not_in_inventory.items() if _may_be_controlplane(observed, name, seen, can)
    }
    return bool(targets and {*(node.name for node in desired.controlplanes), *others} - {*targets})


def _may_be_controlplane(observed: Observed, name: str, seen: NodeSeen, can: Capabilities) -> bool:
    if isinstance(seen.machine, Unknown):
        return seen.etcd is not None
    if seen.machine is None:  # gone, if the provider lists machines; else only where it is, is not known
        return not can.creates and name in members_by_name(observed)
    return seen.is_controlplane


def _may_go(plan: PlanBuilder[Context], name: str, seen: NodeSeen, can: Capabilities) -> bool:
    if can.creates:  # found by its tags
        return True
    if seen.foreign_reason:
        plan.note(f"{name} is not reset: {seen.foreign_reason}")
    elif isinstance(seen.stage, Unknown):
        plan.note(f"{name} is not reset because it does not answer: {seen.stage.why}")
    return seen.configured and not seen.foreign_reason


def _destroy(plan: PlanBuilder[Context], observed: Observed, name: str, can: Capabilities) -> None:
    if can.creates:
        needs = deleted_before_machines(observed)
        plan.add(DestroyMachine(name, can.calls("destroy")), "owned by this cluster", needs=needs)
    else:
        plan.add(ResetNode(name), "proven to be a node of this cluster")


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
            plan.block("whether etcd needs this node is unknown: no control plane lists the etcd members", name)
            return
        verdict = forecast.remove(name)
        if not verdict:
            plan.block(
                f"cannot be removed: {verdict.reason}", name, fix="repair the control plane first: talosmith up"
            )
            return
    take_out(plan, observed, name, seen, "selected with --node", plan.keys(), verdict, can)
