"""What `up` refuses to do: each cause with the live and the wanted value, and what helps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.desired.target import Desired
from talosmith.model.resources import SettingChange
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.operations.config_changes import RECREATE
from talosmith.operations.operation import Facts
from talosmith.plan.builder import PlanBuilder


def refuse(plan: PlanBuilder[Any], desired: Desired, observed: Observed) -> None:
    in_use = {address: name for name, seen in observed.all_nodes.items() for address in seen.places}
    for name, seen in observed.nodes.items():
        _foreign_machine(plan, name, seen)
        if isinstance(seen.machine, Unknown):
            block_unknown_machine(plan, observed, name, seen.machine)
        _address(plan, name, str(desired.nodes[name].machine.ip), seen, in_use)


def refuse_second_cluster(plan: PlanBuilder[Any], desired: Desired, facts: Facts) -> None:
    """A changed `cluster_name` beside the same secrets. Called last: it concerns every step of the plan.

    Machines of the former name would stay, unknown to the inventory, beside new ones with the same etcd identity.
    """
    for former in facts.former:
        change = f"cluster_name changed from {former.name} to {desired.cluster.name}"
        if former.exists:
            plan.block(
                f"{change}, and machines of {former.name} exist with the same secrets",
                *former.machines,
                settings=[SettingChange("cluster_name", former.name, desired.cluster.name)],
                fix=f"set `cluster_name: {former.name}` back; to use the new name, run `talosmith destroy` with "
                f"`cluster_name: {former.name}` first",
            )
        else:
            traces = ", ".join(former.traces)
            plan.confirm(
                f"{change}: no machine of {former.name} was found, but its traces were ({traces}); a new cluster "
                f"{desired.cluster.name} is created with the same secrets",
                of=plan.keys(),
            )


def block_unknown_machine(plan: PlanBuilder[Any], observed: Observed, name: str, machine: Unknown) -> None:
    """A provider that does not list machines mostly does not list resources either: that is one cause."""
    symptoms = ["which resources exist is unknown"] if isinstance(observed.resources, Unknown) else []
    cause = f"whether the machine exists is unknown: {machine.why}"
    plan.block(cause, name, fix="talosmith doctor", symptoms=symptoms)


def _foreign_machine(plan: PlanBuilder[Any], name: str, seen: NodeSeen) -> None:
    if seen.foreign_reason:
        reason, _, fix = seen.foreign_reason.partition("; fix: ")
        otherwise = "correct the node's address in the inventory, or reset the machine that answers there"
        plan.block(f"not proven to be a node of this cluster: {reason}", name, fix=fix or otherwise)


def _address(plan: PlanBuilder[Any], name: str, wanted: str, seen: NodeSeen, in_use: Mapping[str, str]) -> None:
    """Neither a node's address changes in place nor the name at one: `up` would wait in vain for a new node."""
    if wanted in seen.places:
        return
    if user := in_use.get(wanted):
        plan.block(
            f"address {wanted} is in use by {user}",
            name,
            fix=f"choose another address, or remove {user} first: talosmith destroy -n {user}",
        )
    elif seen.is_elsewhere(wanted):
        plan.block(
            "the address of a node cannot change in place",
            name,
            settings=[SettingChange("ip", seen.address, wanted)],
            fix=f"set the address back, or {RECREATE}",
        )
