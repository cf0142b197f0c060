"""Whether nodes are in sync with the inventory: what plan, status, doctor and exit codes mean by it.

The plan acts on some of it (configs, machines); what it leaves to another command (versions) is drift all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.desired.target import Desired, DesiredNode
from talosmith.model.drift import Drift, DriftKind
from talosmith.model.machines import Machine, size_changes
from talosmith.model.resources import shown
from talosmith.observed.world import KubeNodeSeen, NodeSeen, Observed, Unknown


def drift(desired: Desired, observed: Observed) -> tuple[Drift, ...]:
    """Everything in which nodes differ from the inventory; empty: all nodes are in sync."""
    found = [one for name, node in desired.nodes.items() for one in node_drift(desired, node, observed.nodes[name])]
    found += [Drift(node=name, kind="not-in-inventory", live="exists") for name in observed.not_in_inventory]
    return tuple(found)


def node_drift(desired: Desired, wanted: DesiredNode, seen: NodeSeen) -> tuple[Drift, ...]:
    return tuple(
        Drift(node=wanted.name, kind=kind, live=live, wanted=value)
        for kind, live, value in _differences(desired, wanted, seen)
    )


def _differences(desired: Desired, wanted: DesiredNode, seen: NodeSeen) -> Iterator[tuple[DriftKind, str, str]]:
    if seen.foreign_reason:
        yield "foreign", seen.foreign_reason, wanted.name
        return
    yield from _machine(wanted, seen)
    if isinstance(seen.stage, Unknown):
        yield "unknown", seen.stage.why, ""
    elif seen.stage == "maintenance":
        yield "not-configured", "maintenance mode", "running"
    if not seen.configured:
        return
    address = str(wanted.node.ip)
    if seen.is_elsewhere(address):
        yield "address", seen.address, address
    if isinstance(seen.config, Unknown):
        yield "unknown", f"machine config: {seen.config.why}", ""
    elif seen.config_digest and seen.config_digest != wanted.digest:
        yield "config", seen.config_digest[:12], wanted.digest[:12]
    if seen.pending_reboot:
        yield "pending-reboot", "runs with an earlier machine config", "reboot"
    talos = str(desired.cluster.talos_version)
    if isinstance(seen.talos_version, str) and seen.talos_version not in ("", talos):
        yield "talos-version", seen.talos_version, talos
    kubernetes = str(desired.cluster.kubernetes_version)
    if isinstance(seen.kube, KubeNodeSeen) and seen.kube.version not in ("", kubernetes):
        yield "kubernetes-version", seen.kube.version, kubernetes


def _machine(wanted: DesiredNode, seen: NodeSeen) -> Iterator[tuple[DriftKind, str, str]]:
    if isinstance(seen.machine, Unknown):
        yield "unknown", f"machine: {seen.machine.why}", ""
    elif seen.machine is None:
        yield "machine", "does not exist", "on"
    elif seen.machine.unfinished:
        yield "machine", "not finished", "on"
    elif seen.machine.power == "off":
        yield "machine", "off", "on"
    if isinstance(seen.machine, Machine):
        for what, before, after in size_changes(seen.machine, wanted.machine):
            yield "size", f"{before} {what}", f"{after} {what}"
        for outdated in filter(None, (seen.machine.outdated, seen.machine.outdated_running)):
            yield "size", outdated, ""
        for one in seen.machine.kept:
            yield "machine-setting", f"{one.name} {shown(one.before)}", f"{one.name} {shown(one.after)}"
