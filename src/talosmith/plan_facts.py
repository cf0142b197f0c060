"""What a plan needs besides desired and observed state: client files, former names of the cluster, pods to evict.

Read here, so that operations stay pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talosmith.engine.journal import names_with_runs
from talosmith.errors import Temporary
from talosmith.observed.former_names import former_machines, names_of
from talosmith.observed.reach import Reach
from talosmith.observed.world import Observed, ResourceSeen, ResourcesSeen, Unknown
from talosmith.operations.operation import Facts, FormerCluster, Options
from talosmith.plan.step import Plan
from talosmith.providers.base import Billed, HasLeftovers, capabilities
from talosmith.steps.context import Context
from talosmith.steps.files import (
    KUBECONFIG,
    TALOSCONFIG,
    cluster_names,
    is_ours,
    kubeconfig_serves,
    talosconfig_serves,
)
from talosmith.waiting import retried

if TYPE_CHECKING:
    from talosmith.session import Session

_TRIES, _BETWEEN = 4, 0.5  # of asking the provider, and seconds in between


async def facts_for(session: Session, observed: Observed, options: Options) -> Facts:
    folder, desired = session.folder, session.desired
    serving = {
        TALOSCONFIG: talosconfig_serves(folder / TALOSCONFIG, desired, Reach(session.cluster, observed.machines)),
        KUBECONFIG: kubeconfig_serves(folder / KUBECONFIG, desired),
    }
    return Facts(
        capabilities=capabilities(session.provider),
        missing_files=tuple(name for name, serves in serving.items() if not serves),
        former=await _former(session, observed) if options.creates_machines else (),
        billed=_billed(session, observed) if options.creates_machines else (),
        own_files=tuple(name for name in serving if is_ours(folder, name, desired.bundle)),
    )


def _billed(session: Session, observed: Observed) -> tuple[str, ...]:
    if not isinstance(session.provider, Billed):
        return ()
    machines = [session.desired.nodes[name].machine for name, seen in observed.nodes.items() if seen.to_be_created]
    each = observed.resources.each if isinstance(observed.resources, ResourcesSeen) else ()
    return session.provider.billed(machines, [one.wanted for one in each if one.wanted and one.found is None])


async def with_leftovers(session: Session, observed: Observed) -> Observed:
    """With what else is in the network of a cluster that is going to be deleted."""
    seen, provider = observed.resources, session.provider
    if not isinstance(provider, HasLeftovers) or not isinstance(seen, ResourcesSeen):
        return observed
    left = await retried(lambda: provider.leftovers([*seen.found.values()]), _TRIES, lambda *_: _BETWEEN)
    own = tuple(ResourceSeen(key=one.key, found=one) for one in left.own)
    return replace(observed, resources=replace(seen, each=(*seen.each, *own), foreign=left.foreign))


async def _former(session: Session, observed: Observed) -> tuple[FormerCluster, ...]:
    """Other names under which these secrets were used: a changed `cluster_name` is not a new cluster."""
    if session.new_secrets:
        return ()
    desired = session.desired
    machines = await former_machines(desired, session.provider, observed)
    traces: dict[str, list[str]] = {}
    for file, name in cluster_names(session.folder, desired.bundle).items():
        traces.setdefault(name, []).append(f"{file} of the inventory folder")
    recorded = names_with_runs(desired.owner.id)
    for name, started in recorded.items():
        if started > recorded.get(session.cluster.name, 0.0):  # else the change of name was confirmed before
            traces.setdefault(name, []).append("recorded runs")
    return tuple(
        FormerCluster(
            name=name,
            machines=machines.get(name, ()),
            exists=name in machines,
            traces=tuple(traces.get(name, ())),
        )
        for name in sorted({*machines, *traces} - names_of(desired))
    )


def addon_options(options: Any) -> dict[str, tuple[str, ...]]:
    """What of an operation's options changes how add-ons are compared."""
    from talosmith.operations.addons import kinds_to_delete

    return {"take_over": options.take_over, "delete": kinds_to_delete(options)}


async def with_addons(
    session: Session, observed: Observed, take_over: Sequence[str], delete: Sequence[str]
) -> Observed:
    """With the add-ons compared: None where there is no cluster to ask, `Unknown` where it does not answer."""
    desired = session.desired
    if desired.cluster.addons:
        await session.read_addons()
    if not isinstance(observed.kubernetes, Mapping):
        return replace(observed, addons=observed.kubernetes)
    from talosmith.observed.addons import look_at_addons

    try:
        async with session.kube_at(Reach(session.cluster, observed.machines).kubernetes_hosts) as kube:
            seen = await look_at_addons(kube, desired.addons, take_over=take_over, delete=delete)
    except Temporary as wrong:
        return replace(observed, addons=Unknown(str(wrong)))
    return replace(observed, addons=seen)


async def with_evictions(session: Session, plan: Plan[Context], observed: Observed) -> Plan[Context]:
    """With what its drains and reboots of workers do to pods, which is read only if there are such steps."""
    controlplanes = {node.name for node in session.desired.controlplanes}
    evicting = {
        step.key: step.subject
        for step in plan
        if step.disruption == "drain" or (step.disruption == "reboot" and step.subject not in controlplanes)
    }
    if not evicting:
        return plan
    from talosmith.observed.evictions import look_at_evictions

    async with session.kube_at(Reach(session.cluster, observed.machines).kubernetes_hosts) as kube:
        found = await look_at_evictions(kube, dict.fromkeys(evicting.values()))
    steps = (replace(step, evictions=found[step.subject]) if step.key in evicting else step for step in plan)
    return replace(plan, steps=tuple(steps))
