"""Taking out what the inventory no longer has, and what is lost: after everything else, one control plane at a time.

Nothing is removed that did not answer: it may be well, and only out of sight.
"""

from __future__ import annotations

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import EtcdMemberSeen, EtcdSeen, NodeSeen, Observed, Unknown
from talosmith.plan.builder import PlanBuilder
from talosmith.plan.gate import judge, spoken
from talosmith.plan.step import Action
from talosmith.steps.etcd import LeaveEtcd, RemoveMember
from talosmith.steps.kubernetes import DeleteNode, Drain
from talosmith.steps.machines import DestroyMachine
from talosmith.steps.removal import ResetNode

MANY = 2  # nodes that may go without being asked for twice


def forget_lost_members(plan: PlanBuilder, desired: Desired, observed: Observed) -> None:
    """A control plane that comes back empty joins as a new member; the old one must be out before."""
    members = members_by_name(observed)
    for wanted in desired.nodes.values():
        seen = observed.nodes[wanted.name]
        if seen.machine is not None and seen.stage != "maintenance":
            continue
        if isinstance(seen.machine, Unknown):
            continue
        for member in members.get(wanted.name, []):
            why = "its machine is gone" if seen.machine is None else "it is empty"
            plan.add(
                RemoveMember(wanted.name, member.id),
                f"{why}, and etcd still counts it",
                effect=spoken(judge("remove", wanted.name, observed.etcd())),
            )
        if seen.machine is None and isinstance(observed.kubernetes, dict) and wanted.name in observed.kubernetes:
            plan.add(DeleteNode(wanted.name), "its machine is gone", needs=(f"etcd/{wanted.name}/remove",))


def remove_others(plan: PlanBuilder, observed: Observed, *, creates: bool, host_calls: tuple[str, ...] = ()) -> None:
    gone: dict[str, list[str]] = {}  # by name: the steps that take it out
    before = plan.keys()
    for name, seen in observed.others.items():
        if seen.stranger:
            plan.note(f"{name} is not in the inventory, and not this cluster's: {seen.stranger}")
        elif isinstance(seen.stage, Unknown) or isinstance(seen.machine, Unknown):
            why = seen.stage.why if isinstance(seen.stage, Unknown) else "its machine is not known"
            plan.note(f"{name} is not in the inventory, but nothing is removed that does not answer: {why}")
        elif seen.machine is None and not creates:
            plan.note(f"{name} is in the cluster, but not in the inventory, and nobody knows where it is")
        else:
            gone[name] = take_out(
                plan,
                observed,
                name,
                seen,
                "the inventory no longer has it",
                before,
                creates=creates,
                host_calls=host_calls,
            )
            before = [*before, *gone[name]]
    erased = {name: [key for key in keys if key.endswith("/reset")] for name, keys in gone.items()}
    leading = {name: keys for name, keys in gone.items() if _leads(observed, name, observed.others[name])}
    if any(erased.values()):  # no tag tells that they were ours
        _confirm(plan, "nodes that the inventory does not have are erased", erased)
    elif leading:
        _confirm(plan, "control planes are removed", leading)
    elif len(gone) > MANY:
        _confirm(plan, f"{len(gone)} nodes are removed", gone)


def _confirm(plan: PlanBuilder, what: str, gone: dict[str, list[str]]) -> None:
    names = [name for name, keys in gone.items() if keys]
    plan.confirm(f"{what}: {', '.join(names)}", of=[key for name in names for key in gone[name]])


def take_out(
    plan: PlanBuilder,
    observed: Observed,
    name: str,
    seen: NodeSeen,
    reason: str,
    before: list[str],
    *,
    creates: bool,
    host_calls: tuple[str, ...] = (),
) -> list[str]:
    """Out of a cluster that goes on. One after the other: what comes next needs all of it."""
    actions: list[Action] = []
    registered = isinstance(observed.kubernetes, dict) and name in observed.kubernetes
    alive = seen.configured and not seen.stranger
    if registered and alive:
        actions.append(Drain(name))
    members = members_by_name(observed).get(name, [])
    actions += [LeaveEtcd(name) if alive else RemoveMember(name, member.id) for member in members[:1]]
    has_machine = isinstance(seen.machine, Machine)
    if has_machine and alive and not creates:
        actions.append(ResetNode(name))  # while Kubernetes still tells where it is
    if registered:
        actions.append(DeleteNode(name))
    if has_machine and creates:
        actions.append(DestroyMachine(name, host_calls))
    effect = spoken(judge("remove", name, observed.etcd())) if _leads(observed, name, seen) else ""
    keys: list[str] = []
    for action in actions:
        leaving = action.key.startswith("etcd/")
        out_of_etcd = [key for key in keys if key.startswith("etcd/")] if action.disruption == "wipe" else []
        keys.append(
            plan.add(
                action,
                reason,
                needs=[*before, *keys],
                never_without=out_of_etcd,
                effect=effect if leaving else "",
            )
        )
    return keys


def _leads(observed: Observed, name: str, seen: NodeSeen) -> bool:
    return seen.leads or name in members_by_name(observed)


def members_by_name(observed: Observed) -> dict[str, list[EtcdMemberSeen]]:
    """etcd's members as all control planes list them, by the names they have."""
    found: dict[int, EtcdMemberSeen] = {}
    for seen in observed.everybody.values():
        if isinstance(seen.etcd, EtcdSeen):
            found |= {member.id: member for member in seen.etcd.members}
    named: dict[str, list[EtcdMemberSeen]] = {}
    for member in sorted(found.values(), key=lambda one: one.id):
        named.setdefault(member.name, []).append(member)
    return named
