"""Gives the controllers of each cluster a turn: when objects or machines have changed, and when waits are over."""

from __future__ import annotations

from talosmith_lab.kube.cluster import kubernetes_of
from talosmith_lab.kube.controllers.accounts import Accounts
from talosmith_lab.kube.controllers.api_services import ApiServices
from talosmith_lab.kube.controllers.budgets import Budgets
from talosmith_lab.kube.controllers.cloud_nodes import CloudNodes
from talosmith_lab.kube.controllers.daemon_sets import DaemonSets
from talosmith_lab.kube.controllers.deployments import Deployments
from talosmith_lab.kube.controllers.endpoints import ServiceEndpoints
from talosmith_lab.kube.controllers.garbage import Garbage
from talosmith_lab.kube.controllers.jobs import Jobs
from talosmith_lab.kube.controllers.kubelets import Kubelets
from talosmith_lab.kube.controllers.logs import lines_of
from talosmith_lab.kube.controllers.manifests import Manifests
from talosmith_lab.kube.controllers.namespaces import Namespaces
from talosmith_lab.kube.controllers.node_lifecycle import NodeLifecycle
from talosmith_lab.kube.controllers.operators import Operators
from talosmith_lab.kube.controllers.pods import Pods
from talosmith_lab.kube.controllers.replica_sets import ReplicaSets
from talosmith_lab.kube.controllers.scheduler import Scheduler
from talosmith_lab.kube.controllers.signing import Signing
from talosmith_lab.kube.controllers.stateful_sets import StatefulSets
from talosmith_lab.kube.controllers.work import TURN, Controller, Work
from talosmith_lab.world import World


def notice(world: World) -> None:
    """Everything else has come to rest: now it is for them to see what has changed."""
    if world.machines_seen and world.plays_kubernetes:
        names, world.machines_seen = world.machines_seen, {}
        for uid in list(world.clusters):
            work = _work_of(world, uid)
            if work is not None:
                for name in names:
                    work.machine_changed(name)
                work.settle()


def take_turn(world: World, uid: str, what: str) -> None:
    found = world.kubernetes.get(uid)
    work = found.controllers if found is not None and uid in world.clusters else None
    if not isinstance(work, Work):
        return
    if what == TURN:
        work.step()
    else:
        work.elapsed(what)


def is_turn(what: str) -> bool:
    return what.startswith(TURN)


def _work_of(world: World, uid: str) -> Work | None:
    """Made when the cluster first has an API, and again when another life of its etcd begins."""
    kubernetes = kubernetes_of(world, world.clusters[uid])
    if isinstance(kubernetes.controllers, Work):
        return kubernetes.controllers
    work = Work(world, kubernetes)
    if not work.active:
        return None
    kubernetes.controllers = work
    kubernetes.logs = lines_of
    work.start(_controllers(work))
    return work


def _controllers(work: Work) -> list[Controller]:
    kubelets = Kubelets(work)
    pods = Pods(work, kubelets)
    kubelets.on_reboot = pods.rebooted
    return [
        Manifests(work),
        Accounts(work),
        kubelets,
        NodeLifecycle(work, kubelets),
        pods,
        Scheduler(work),
        ReplicaSets(work),
        Deployments(work),
        DaemonSets(work),
        StatefulSets(work),
        Jobs(work),
        Budgets(work),
        ServiceEndpoints(work),
        ApiServices(work),
        Signing(work),
        CloudNodes(work),
        Operators(work),
        Garbage(work),
        Namespaces(work),
    ]
