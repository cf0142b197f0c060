"""What a node knows of Kubernetes: its static pods, whether the API answers, whether the node is ready there."""

from __future__ import annotations

from contextlib import suppress

from talosmith.model.versions import RECOMMENDED
from talosmith_lab.clock import Key
from talosmith_lab.etcd import EtcdError
from talosmith_lab.kube import bootstrap
from talosmith_lab.kube.api import Api
from talosmith_lab.kube.cluster import EtcdRefusal, kubernetes_of
from talosmith_lab.machine import Machine
from talosmith_lab.naming import main_address
from talosmith_lab.nodeconfig import NodeConfig
from talosmith_lab.quorum import follows
from talosmith_lab.services import time_synced
from talosmith_lab.world import World

_REQUIRED = ("apid", "kubelet", "machined")
STATIC_PODS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


def settle(world: World, machine: Machine) -> None:
    config, run = world.config(machine), machine.run
    if config is None or run is None:
        return
    if config.is_controlplane:
        _static_pods(world, machine)
    reached = machine.runs("kubelet") and reaches_api(world, machine, config.cluster_id)
    if reached and has_network(world, machine, config):
        if not run.node_ready:
            world.after(machine.name, "node-ready", "node-ready", machine.boots)
    else:
        world.timeline.cancel(Key(machine.name, "node-ready"))
        if run.node_ready:
            run.node_ready = False
            world.touch(machine)


def _static_pods(world: World, machine: Machine) -> None:
    assert machine.run is not None  # noqa: S101 - callers look
    if machine.runs("kubelet") and machine.runs("etcd") and follows(world, machine):
        if not machine.run.static_pods:
            world.after(machine.name, "static-pods", "static-pods", machine.boots)
    else:
        world.timeline.cancel(Key(machine.name, "static-pods"))
        if machine.run.static_pods and not machine.runs("kubelet"):
            machine.run.static_pods = False
            world.touch(machine)


def static_pods_up(world: World, machine: Machine) -> None:
    if machine.run is not None and not machine.run.static_pods:
        machine.run.static_pods = True
        config = world.config(machine)
        world.pulled(machine, *(config.images.get(pod, "") for pod in STATIC_PODS if config))
        for pod in STATIC_PODS:
            world.log(machine, f"kube-system/{pod}-{machine.name}", "started")
        _register(world, machine, f"/registry/masterleases/{main_address(world, machine)}")
        _first_objects(world, machine)
        world.touch(machine)


def _first_objects(world: World, machine: Machine) -> None:
    """An API server that starts makes what every cluster has, unless it is there."""
    cluster = world.etcd_of(machine)
    if cluster is not None:
        with suppress(EtcdRefusal):  # without quorum, the next one that starts does it
            bootstrap.start(Api(kubernetes_of(world, cluster), machine.name))


def node_ready(world: World, machine: Machine) -> None:
    if machine.run is not None and not machine.run.node_ready:
        machine.run.node_ready = True
        world.touch(machine)


def _register(world: World, machine: Machine, key: str) -> None:
    """What a Kubernetes API would write about the node."""
    config = world.config(machine)
    for other in world.control_planes(config.cluster_id) if config else ():
        cluster = world.etcd_of(other)
        member = cluster.find(other.name) if cluster else None
        if cluster is not None and member is not None and world.talk(machine.name, other.name):
            with suppress(EtcdError):
                cluster.write(member, world, lambda store: store.put(key, machine.uuid.encode()))
                world.changed_clusters.add(cluster.uid)
                return


def has_network(world: World, machine: Machine, config: NodeConfig) -> bool:
    """Whether pods can have a network: Talos brings one, unless the configs say that another tool will.

    In the form of 1.14, the configs of workers do not tell: control planes apply the CNI for all.
    """
    if config.cni != "none" or machine.name in world.networked:
        return True
    planes = (world.config(one) for one in world.control_planes(config.cluster_id))
    return any(one is not None and one.cni != "none" for one in planes)


def api_runs(world: World, machine: Machine) -> bool:
    """Whether an API server answers there, even if only to say that its etcd does not."""
    return bool(machine.run and machine.run.static_pods) and not world.active("kube-down", machine.name)


def serves_api(world: World, machine: Machine) -> bool:
    return api_runs(world, machine) and world.connected(machine) and follows(world, machine)


def kubernetes_version(config: NodeConfig) -> str:
    """Of the API server, as its image says."""
    return config.images.get("kube-apiserver", "").rpartition(":")[2] or RECOMMENDED.kubernetes


def reaches_api(world: World, machine: Machine, cluster_id: str) -> bool:
    return any(
        serves_api(world, other) and world.talk(machine.name, other.name)
        for other in world.control_planes(cluster_id)
    )


def api_changed(world: World, cluster_id: str) -> bool:
    """Whether the API has come or gone since this was last asked."""
    up = any(serves_api(world, machine) for machine in world.control_planes(cluster_id))
    changed = world.api_up.get(cluster_id, False) != up
    world.api_up[cluster_id] = up
    return changed


def unmet(world: World, machine: Machine) -> list[tuple[str, str]]:
    """What keeps a node from being ready, with Talos' names."""
    run, config = machine.run, world.config(machine)
    if run is None or run.stage not in ("booting", "running"):
        return []
    found = []
    if not time_synced(world, machine):
        found.append(("time", "time is not synced"))
    if world.active("lost-network", machine.name):
        found.append(("network", "waiting on: address, connectivity"))
    needed = dict.fromkeys([*_REQUIRED, *run.services])
    down = [name for name in sorted(needed) if not machine.runs(name)]
    ill = [name for name, service in sorted(run.services.items()) if name not in down and service.healthy is False]
    if down or ill:
        problems = [*(f"{name} not running" for name in down), *(f"{name} not healthy" for name in ill)]
        found.append(("services", ", ".join(problems)))
    if config is not None and config.is_controlplane and not run.static_pods:
        found.append(("staticPods", ", ".join(f"kube-system/{pod} pending" for pod in STATIC_PODS)))
    if config is not None and not run.node_ready and not config.skip_node_registration:
        found.append(("nodeReady", f"node {machine.name!r} is not ready"))
    return found
