"""Removal of nodes that the inventory no longer has, and of lost etcd members: last, one control plane at a time.

Nothing is removed that did not answer: it may be healthy, and only out of sight. Each removal is judged against etcd
as it will be by then, after the joins and removals that are planned before it.
"""

from __future__ import annotations

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import EtcdMemberSeen, EtcdSeen, NodeSeen, Observed, Unknown
from talosmith.plan.builder import PlanBuilder
from talosmith.plan.gate import EtcdView, Verdict, as_effect, judge
from talosmith.plan.step import Action, StepKey
from talosmith.providers.base import Capabilities
from talosmith.steps.context import Context
from talosmith.steps.etcd import LeaveEtcd, RemoveMember
from talosmith.steps.kubernetes import DeleteNode, Drain
from talosmith.steps.machines import DestroyMachine
from talosmith.steps.nodes import Joined
from talosmith.steps.removal import ResetNode

MANY = 2  # nodes that may be removed with a plain yes


class Forecast:
    """etcd as it will be when a step is reached: every planned join and removal changes it."""

    def __init__(self, etcd: EtcdView | None) -> None:
        self.etcd = etcd

    def join(self, name: str) -> None:
        if self.etcd is not None:
            self.etcd = self.etcd.with_healthy(name)

    def remove(self, name: str) -> Verdict:
        """The verdict of the gate for this removal; the next one is judged as if it had happened."""
        verdict = judge("remove", name, self.etcd)
        if self.etcd is not None:
            self.etcd = self.etcd.without(name)
        return verdict


def remove_lost_members(plan: PlanBuilder[Context], desired: Desired, observed: Observed, forecast: Forecast) -> None:
    """A control plane that comes back empty joins as a new member; the old one must be out before."""
    members = members_by_name(observed)
    before: list[StepKey] = []
    for wanted in desired.nodes.values():
        seen = observed.nodes[wanted.name]
        if seen.machine is not None and seen.stage != "maintenance":
            continue
        if isinstance(seen.machine, Unknown):
            continue
        for member in members.get(wanted.name, []):
            why = "machine does not exist" if seen.machine is None else "node has no config"
            removal = RemoveMember(wanted.name, member.id)
            effect = as_effect(forecast.remove(wanted.name))
            before = [plan.add(removal, f"{why}, and etcd still lists it as a member", needs=before, effect=effect)]
        if seen.machine is None and isinstance(observed.kubernetes, dict) and wanted.name in observed.kubernetes:
            needs = (RemoveMember.key_of(wanted.name).if_planned,)
            plan.add(DeleteNode(wanted.name), "machine does not exist", needs=needs)


def remove_others(
    plan: PlanBuilder[Context],
    desired: Desired,
    observed: Observed,
    forecast: Forecast,
    can: Capabilities,
) -> None:
    """Nodes that are no longer in the inventory."""
    for node in desired.controlplanes:
        if plan.has(Joined.key_of(node.name)):
            forecast.join(node.name)
    gone: dict[str, list[StepKey]] = {}  # by name: the steps that remove it
    before = plan.keys()
    for name, seen in observed.not_in_inventory.items():
        if seen.foreign_reason:
            plan.note(f"{name} is not in the inventory, and not proven to be this cluster's: {seen.foreign_reason}")
        elif isinstance(seen.stage, Unknown) or isinstance(seen.machine, Unknown):
            why = seen.stage.why if isinstance(seen.stage, Unknown) else "whether its machine exists is unknown"
            plan.note(f"{name} is not in the inventory, and is not removed because it does not answer: {why}")
        elif seen.machine is None and not can.creates:
            plan.note(f"{name} is in the cluster, but not in the inventory, and its address is unknown")
        else:
            reason = "not in the inventory"
            verdict = forecast.remove(name) if concerns_etcd(observed, name, seen) else None
            gone[name] = take_out(plan, observed, name, seen, reason, before, verdict, can)
            before = [*before, *gone[name]]
    erased = {name: [key for key in keys if key == ResetNode.key_of(name)] for name, keys in gone.items()}
    leading = {
        name: keys for name, keys in gone.items() if concerns_etcd(observed, name, observed.not_in_inventory[name])
    }
    if any(erased.values()):  # no tag tells that they were ours
        _confirm(plan, "nodes that are not in the inventory are reset", erased)
    elif leading:
        _confirm(plan, "control planes are removed", leading)
    elif len(gone) > MANY:
        _confirm(plan, f"{len(gone)} nodes are removed", gone)


def _confirm(plan: PlanBuilder[Context], what: str, gone: dict[str, list[StepKey]]) -> None:
    names = [name for name, keys in gone.items() if keys]
    plan.confirm(f"{what}: {', '.join(names)}", of=[key for name in names for key in gone[name]])


def take_out(
    plan: PlanBuilder[Context],
    observed: Observed,
    name: str,
    seen: NodeSeen,
    reason: str,
    before: list[StepKey],
    verdict: Verdict | None,
    can: Capabilities,
) -> list[StepKey]:
    """Remove a node from a cluster that stays. One node after the other: what comes next needs all of it.

    `verdict` is the gate's on the removal, for a control plane.
    """
    actions: list[Action[Context]] = []
    registered = isinstance(observed.kubernetes, dict) and name in observed.kubernetes
    alive = seen.configured and not seen.foreign_reason
    members = members_by_name(observed).get(name, [])[:1]
    if registered and alive:
        actions.append(Drain(name, controlplane=bool(members)))
    leaving: list[Action[Context]] = [LeaveEtcd(name) if alive else RemoveMember(name, one.id) for one in members]
    actions += leaving
    has_machine = isinstance(seen.machine, Machine)
    if has_machine and alive and not can.creates:
        actions.append(ResetNode(name))  # while its Node object still has its address
    if registered:
        actions.append(DeleteNode(name))
    if has_machine and can.creates:
        actions.append(DestroyMachine(name, can.calls("destroy")))
    effect = as_effect(verdict) if verdict is not None else ""
    out_of_etcd = [action.key for action in leaving]
    keys: list[StepKey] = []
    for action in actions:
        is_leaving = action.key in out_of_etcd
        required = out_of_etcd if action.disruption == "wipe" and not is_leaving else []
        needs = [*before, *keys]
        keys.append(plan.add(action, reason, needs=needs, requires=required, effect=effect if is_leaving else ""))
    return keys


def concerns_etcd(observed: Observed, name: str, seen: NodeSeen) -> bool:
    """Whether its removal is a matter of etcd: a member, or a machine that was created as a control plane."""
    return seen.is_controlplane or name in members_by_name(observed)


def members_by_name(observed: Observed) -> dict[str, list[EtcdMemberSeen]]:
    """etcd's members as all control planes list them, by the names they have."""
    found: dict[int, EtcdMemberSeen] = {}
    for seen in observed.all_nodes.values():
        if isinstance(seen.etcd, EtcdSeen):
            found |= {member.id: member for member in seen.etcd.members}
    named: dict[str, list[EtcdMemberSeen]] = {}
    for member in sorted(found.values(), key=lambda one: one.id):
        named.setdefault(member.name, []).append(member)
    return named
