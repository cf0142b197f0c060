"""Bring a cluster up, or back to what the inventory says, with as little disturbance as that takes.

The whole of it is `build`. Read it aloud: refuse what cannot be meant; make machines; give configs; start etcd once;
wait for the API and for every node; change what has changed, one control plane at a time; take away what is no longer
wanted, last; look whether all is well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.operations.changes import change_config, resize
from talosmith.operations.refusals import refuse
from talosmith.operations.removal import forget_lost_members, remove_others
from talosmith.plan.builder import PlanBuilder, Selection
from talosmith.plan.step import Plan
from talosmith.steps.cluster import Healthy
from talosmith.steps.etcd import BootstrapEtcd
from talosmith.steps.files import WriteKubeconfig, WriteTalosconfig
from talosmith.steps.kubernetes import ControlPlaneUp
from talosmith.steps.machines import CreateMachine, ForgetSeed, PowerOn
from talosmith.steps.nodes import FirstConfig, Joined

CONTROL_PLANE = "cluster/controlplane"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    selection: Selection = field(default_factory=Selection)
    creates: bool = True  # the provider makes machines, and takes them away
    resizes: bool = False
    forgets_seeds: bool = False  # it gives machines a seed that can be taken away again
    missing_files: tuple[str, ...] = ("talosconfig", "kubeconfig")
    health_limit: float = 900.0
    create_calls: tuple[str, ...] = ()  # of the provider, on its host: besides the machine's own
    resize_calls: tuple[str, ...] = ()
    seed_calls: tuple[str, ...] = ()
    destroy_calls: tuple[str, ...] = ()


def build(desired: Desired, observed: Observed, options: UpOptions) -> Plan:
    plan = PlanBuilder("up", desired.cluster.name)
    refuse(plan, desired, observed)
    forget_lost_members(plan, desired, observed)
    for name in desired.nodes:
        _machine(plan, name, observed.nodes[name], options)
        _first_config(plan, name, observed.nodes[name])
    _bootstrap(plan, desired, observed)
    _api(plan, observed)
    for name in desired.nodes:
        _joined(plan, name, observed.nodes[name])
        if options.forgets_seeds:
            _seed(plan, name, observed.nodes[name], options)
    resize(plan, desired, observed, possible=options.resizes, host_calls=options.resize_calls)
    change_config(plan, desired, observed)
    remove_others(plan, observed, creates=options.creates, host_calls=options.destroy_calls)
    _files(plan, desired, options)
    _health(plan, options)
    return plan.freeze(options.selection)


def _health(plan: PlanBuilder, options: UpOptions) -> None:
    """Of the whole cluster; where a part is left out on purpose, it would be waited for in vain."""
    chosen = options.selection
    left_out = plan.keys(lambda step: not chosen.has(step) and not step.key.startswith("files/"))
    if left_out and not chosen.names(Healthy.name):
        if chosen.skip:
            plan.note("a part is left out, so whether the cluster is healthy is not looked at")
    elif plan.keys():
        plan.add(Healthy(options.health_limit), "something was done", needs=plan.keys())


def _machine(plan: PlanBuilder, name: str, seen: NodeSeen, options: UpOptions) -> None:
    if seen.machine is None:
        plan.add(
            CreateMachine(name, options.create_calls),
            "there is no machine for it",
            needs=(f"node/{name}/deleted",),
            never_without=(f"etcd/{name}/remove",),
        )
    elif isinstance(seen.machine, Machine) and seen.machine.power == "off":
        plan.add(PowerOn(name), "its machine is off")
        plan.note(f"{name} is off: whether its config is the inventory's is seen once it is on")


def _first_config(plan: PlanBuilder, name: str, seen: NodeSeen) -> None:
    if seen.configured or seen.stranger:
        return
    if seen.stage == "maintenance":
        reason = "it waits for a config in maintenance mode"
    elif isinstance(seen.stage, Unknown):
        reason = f"it does not answer yet: {seen.stage.why}"
    else:
        reason = "it comes up without one"
    plan.add(
        FirstConfig(name),
        reason,
        needs=(f"machine/{name}/power",),
        never_without=(f"machine/{name}", f"etcd/{name}/remove"),
    )


def _bootstrap(plan: PlanBuilder, desired: Desired, observed: Observed) -> None:
    """The first control plane of the inventory, unless etcd is somewhere. Nobody else is ever chosen."""
    if observed.bootstrapped is True:
        return
    names = [node.name for node in desired.controlplanes]
    running = [node.name for node in desired.workers if observed.nodes[node.name].ready]
    if observed.bootstrapped is False and running:
        text = f"{', '.join(running)} ran in a cluster whose etcd is gone; a new one is empty"
        plan.confirm(text, of=(BootstrapEtcd.name,))
    reason = "no control plane has etcd data"
    if isinstance(observed.bootstrapped, Unknown):
        reason = "no control plane is known to have etcd data; all are asked again before it is started"
    # First configs only: a changed one waits for a cluster that runs.
    configs = [key for name in names if plan.has(key := f"node/{name}/config")]
    plan.add(BootstrapEtcd(names[0]), reason, needs=configs)


def _api(plan: PlanBuilder, observed: Observed) -> None:
    if isinstance(observed.kubernetes, Unknown) or observed.kubernetes is None:
        why = observed.kubernetes.why if isinstance(observed.kubernetes, Unknown) else "there is no cluster yet"
        plan.add(ControlPlaneUp(), why, needs=["etcd/bootstrap", *plan.keys(lambda step: "/power" in step.key)])


def _joined(plan: PlanBuilder, name: str, seen: NodeSeen) -> None:
    touched = any(plan.has(key) for key in (f"machine/{name}", f"machine/{name}/power", f"node/{name}/config"))
    if touched or (seen.configured and not seen.ready):
        reason = "it is new" if touched else "; ".join(seen.unmet) or "it is not ready"
        needs = (f"machine/{name}/power", f"node/{name}/reboot", CONTROL_PLANE)
        plan.add(Joined(name), reason, needs=needs, never_without=(f"node/{name}/config",))


def _seed(plan: PlanBuilder, name: str, seen: NodeSeen, options: UpOptions) -> None:
    """Not before the node is ready: until then its config may be nowhere else."""
    if plan.has(f"machine/{name}") or (isinstance(seen.machine, Machine) and seen.machine.seeded):
        action = ForgetSeed(name, options.seed_calls)
        plan.add(action, "it has its config on its own disk then", never_without=(f"node/{name}/joined",))


def _files(plan: PlanBuilder, desired: Desired, options: UpOptions) -> None:
    configs = plan.keys(lambda step: step.key.endswith("/config"))
    if "talosconfig" in options.missing_files:
        plan.add(WriteTalosconfig(), "there is none that serves", needs=configs)
    if "kubeconfig" in options.missing_files:
        # Control planes write it, with the endpoint that their config has.
        leading = [key for node in desired.controlplanes if (key := f"node/{node.name}/config") in configs]
        plan.add(WriteKubeconfig(), "there is none that serves", needs=[CONTROL_PLANE, *leading])
