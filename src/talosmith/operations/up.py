"""Bring a cluster up, or back in sync with the inventory, with as little disruption as that takes.

The whole of it is `build`. Read it aloud: refuse what is unsafe; remove lost etcd members; create resources
and machines; apply configs; bootstrap etcd once; wait for the API and for every node; install add-ons; change what
has changed, one control plane at a time; remove what is no longer wanted, last; check that the cluster is healthy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine, new_settings
from talosmith.observed.sync import drift
from talosmith.observed.world import KubeNodeSeen, NodeSeen, Observed, Unknown
from talosmith.operations.addons import cni_steps, install_addons
from talosmith.operations.changes import change_config, resize
from talosmith.operations.operation import Facts, Options
from talosmith.operations.refusals import refuse, refuse_second_cluster
from talosmith.operations.removal import Forecast, members_by_name, remove_lost_members, remove_others
from talosmith.operations.resources import delete_unwanted, ensure_resources, stands_on
from talosmith.plan.builder import PlanBuilder
from talosmith.plan.step import Plan
from talosmith.providers.base import Capabilities
from talosmith.steps.cluster import Healthy
from talosmith.steps.context import Context
from talosmith.steps.etcd import BootstrapEtcd, RemoveMember
from talosmith.steps.files import WriteKubeconfig, WriteTalosconfig
from talosmith.steps.first_config import FirstConfig
from talosmith.steps.kubernetes import ControlPlaneUp, DeleteNode, Uncordon
from talosmith.steps.machines import CreateMachine, ForgetSeed, PowerOn
from talosmith.steps.nodes import Joined, Reboot


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions(Options):
    creates_machines: ClassVar[bool] = True
    installs_addons: ClassVar[bool] = True
    health_limit: float = 900.0
    max_unavailable: int = 1  # workers that are disturbed at the same time
    take_over: tuple[str, ...] = ()  # add-ons whose objects another tool has created
    prune: tuple[str, ...] = ()  # crds, volumes, claims: deleted with what they hold once they are no longer wanted


OPTIONS = UpOptions


def build(desired: Desired, observed: Observed, options: UpOptions, facts: Facts) -> Plan[Context]:
    can = facts.capabilities
    plan = PlanBuilder[Context]("up", desired.cluster.name)
    forecast = Forecast(observed.etcd())
    refuse(plan, desired, observed)
    remove_lost_members(plan, desired, observed, forecast)
    ensure_resources(plan, desired, observed)
    for name in desired.nodes:
        _machine(plan, desired, observed, name, can)
        _first_config(plan, observed, name, observed.nodes[name])
    if off := [name for name in desired.nodes if plan.has(PowerOn.key_of(name))]:
        plan.note(f"{', '.join(off)}: powered off; the machine config is compared once the machine is on")
    if facts.billed:
        plan.note(f"billed by {desired.cluster.provider.name}: {', '.join(facts.billed)}")
    _bootstrap(plan, desired, observed)
    _api(plan, observed)
    for name in desired.nodes:
        _joined(plan, desired, observed, name)
        _uncordon(plan, name, observed.nodes[name])
        if can.forgets_seeds:
            _seed(plan, name, observed.nodes[name], can)
    install_addons(plan, desired, observed, options)
    resize(plan, desired, observed, can, max_unavailable=options.max_unavailable)
    change_config(plan, desired, observed, max_unavailable=options.max_unavailable)
    remove_others(plan, desired, observed, forecast, can)
    delete_unwanted(plan, desired, observed)
    _files(plan, desired, facts.missing_files)
    _health(plan, options)
    refuse_second_cluster(plan, desired, facts)
    return plan.freeze(options.selection, drift(desired, observed))


def _health(plan: PlanBuilder[Context], options: UpOptions) -> None:
    """Of the whole cluster; where a part is left out on purpose, it would be waited for in vain."""
    chosen = options.selection
    left_out = plan.keys(lambda step: not chosen.has(step) and step.stage != "files")
    if left_out and not chosen.names(Healthy.key_of()):
        if chosen.skip:
            plan.note("steps are skipped, so the cluster's health is not checked")
    elif plan.keys():
        plan.add(Healthy(options.health_limit), "cluster changed in this run", needs=plan.keys())


def _machine(plan: PlanBuilder[Context], desired: Desired, observed: Observed, name: str, can: Capabilities) -> None:
    seen, below = observed.nodes[name], stands_on(observed, name)
    if seen.to_be_created:
        plan.add(
            CreateMachine(name, can.calls("create"), new=new_settings(desired.nodes[name].machine)),
            "creation of the machine is not finished" if seen.unfinished else "machine does not exist",
            needs=(DeleteNode.key_of(name).if_planned,),
            requires=(RemoveMember.key_of(name).if_planned, *below),
        )
    elif isinstance(seen.machine, Machine) and seen.machine.power == "off":
        plan.add(PowerOn(name), "machine is powered off", requires=below)


def _first_config(plan: PlanBuilder[Context], observed: Observed, name: str, seen: NodeSeen) -> None:
    if seen.configured or seen.foreign_reason or _membership(observed, name, seen):
        return
    if seen.stage == "maintenance":
        reason = "node is in maintenance mode"
    elif isinstance(seen.stage, Unknown):
        reason = f"node does not answer yet: {seen.stage.why}"
    elif seen.machine is not None:
        reason = "node is powered off, and neither etcd nor Kubernetes lists it"
    else:
        reason = "new machine"
    plan.add(
        FirstConfig(name),
        reason,
        needs=(PowerOn.key_of(name).if_planned,),
        requires=(CreateMachine.key_of(name).if_planned, RemoveMember.key_of(name).if_planned),
    )


def _membership(observed: Observed, name: str, seen: NodeSeen) -> str:
    """What proves that a node which is off or does not answer is a member already; empty: nothing does.

    One that answers in maintenance mode, or whose machine is gone, has lost its config whatever the lists say.
    """
    if seen.to_be_created or seen.stage == "maintenance":
        return ""
    listed = [
        *(["etcd"] if name in members_by_name(observed) else []),
        *(["Kubernetes"] if isinstance(seen.kube, KubeNodeSeen) else []),
    ]
    return " and ".join(listed)


def _bootstrap(plan: PlanBuilder[Context], desired: Desired, observed: Observed) -> None:
    """The first control plane of the inventory, unless etcd is somewhere. No other one is ever chosen."""
    if observed.bootstrapped is True:
        return
    for name, seen in observed.not_in_inventory.items():
        if isinstance(seen.etcd, Unknown):
            plan.block(
                "etcd is not bootstrapped: this control plane is no longer in the inventory, and whether it has this "
                f"cluster's etcd data is unknown ({seen.etcd.why}); a bootstrap could create a second etcd cluster",
                name,
                fix=f"power {name} on, or add it to the inventory again",
            )
    names = [node.name for node in desired.controlplanes]
    running = [node.name for node in desired.workers if observed.nodes[node.name].ready]
    if observed.bootstrapped is False and running:
        text = f"{', '.join(running)} ran in a cluster whose etcd data is lost; the new etcd is empty"
        plan.confirm(text, of=(BootstrapEtcd.key_of(),))
    reason = "no control plane has etcd data"
    if isinstance(observed.bootstrapped, Unknown):
        reason = "no control plane is known to have etcd data; all are checked again before the bootstrap"
    # First configs only: a changed one waits for a cluster that runs.
    configs = [key for name in names if plan.has(key := FirstConfig.key_of(name))]
    plan.add(BootstrapEtcd(names[0]), reason, needs=configs)


def _api(plan: PlanBuilder[Context], observed: Observed) -> None:
    if isinstance(observed.kubernetes, Unknown) or observed.kubernetes is None:
        why = (
            observed.kubernetes.why
            if isinstance(observed.kubernetes, Unknown)
            else "no control plane has etcd data yet"
        )
        powered = [PowerOn.key_of(name).if_planned for name in observed.nodes]
        plan.add(ControlPlaneUp(), why, needs=[BootstrapEtcd.key_of().if_planned, *powered])


def _joined(plan: PlanBuilder[Context], desired: Desired, observed: Observed, name: str) -> None:
    seen = observed.nodes[name]
    touched = any(plan.has(key) for key in (CreateMachine.key_of(name), FirstConfig.key_of(name)))
    member = "" if seen.configured else _membership(observed, name, seen)
    if touched:
        reason = "new node"
    elif plan.has(PowerOn.key_of(name)):
        reason = f"is a member by {member}" if member else "machine is powered on"
    elif member and isinstance(seen.stage, Unknown) and not seen.foreign_reason:
        reason = f"is a member by {member}, and does not answer: {seen.stage.why}"
        plan.note(
            f"{name} is a member of this cluster and does not answer: `up` waits for it; power it on, or remove it: "
            f"talosmith destroy -n {name}"
        )
    elif seen.configured and not seen.ready and not _lacks_only_cni(desired, seen):
        reason = "; ".join(seen.unmet) or "node is not Ready"
    else:
        return
    needs = (PowerOn.key_of(name), Reboot.key_of(name), ControlPlaneUp.key_of())
    plan.add(
        Joined(name, desired.without_cni),
        reason,
        needs=[*(key.if_planned for key in needs), *cni_steps(desired)],
        requires=(FirstConfig.key_of(name).if_planned,),
    )


def _lacks_only_cni(desired: Desired, seen: NodeSeen) -> bool:
    """Talos installs no CNI, and a node is not Ready without: health, and no step of a plan."""
    unready = bool(seen.unmet) and all(unmet.startswith("nodeReady:") for unmet in seen.unmet)
    return seen.stage == "running" and unready and desired.without_cni


def _uncordon(plan: PlanBuilder[Context], name: str, seen: NodeSeen) -> None:
    """A cordon of ours on a node that stays was left by a removal that did not finish."""
    if not isinstance(seen.kube, KubeNodeSeen) or plan.has(DeleteNode.key_of(name)):
        return
    if seen.kube.cordoned_by == "talosmith":
        reason = "cordoned by talosmith for a removal that did not finish"
        needs = (Joined.key_of(name).if_planned, ControlPlaneUp.key_of().if_planned)
        plan.add(Uncordon(name), reason, needs=needs)
    elif seen.kube.cordoned_by == "other":
        plan.note(f"{name} is cordoned, not by talosmith, and stays cordoned: kubectl uncordon {name}")


def _seed(plan: PlanBuilder[Context], name: str, seen: NodeSeen, can: Capabilities) -> None:
    """Not before the node is ready: until then its config may be nowhere else."""
    if plan.has(CreateMachine.key_of(name)) or (isinstance(seen.machine, Machine) and seen.machine.seeded):
        reason = "not needed once the node runs from its own disk"
        action = ForgetSeed(name, can.calls("forget-seed"))
        plan.add(action, reason, requires=(Joined.key_of(name).if_planned,))


def _files(plan: PlanBuilder[Context], desired: Desired, missing: Sequence[str]) -> None:
    configs = [key for name in desired.nodes if plan.has(key := FirstConfig.key_of(name))]
    reason = "missing, expired or for another endpoint"
    if "talosconfig" in missing:
        plan.add(WriteTalosconfig(), reason, needs=configs)
    if "kubeconfig" in missing:
        # Control planes write it, with the endpoint that their config has.
        leading = [key for node in desired.controlplanes if (key := FirstConfig.key_of(node.name)) in configs]
        plan.add(WriteKubeconfig(), reason, needs=[ControlPlaneUp.key_of().if_planned, *leading])
