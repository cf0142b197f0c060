"""When a cluster is healthy: the one definition that up, health, doctor, status and exit codes share.

The checks are those of `talosctl health`, under its names and in its order, so that both can be compared; a check
fails because of itself or of one before it. Two differ on purpose: nodes are compared with the inventory instead of
with discovery, and a node that an administrator has cordoned is named, but healthy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from talosmith.errors import TalosmithError
from talosmith.kube import Ref
from talosmith.kube.conditions import has, ready
from talosmith.kube.objects import Object, labels
from talosmith.observed.round import CORE_DNS, PROXY, Expected, Round
from talosmith.observed.verdicts import (
    OK,
    Check,
    Failure,
    Verdict,
    by_node,
    caught,
    same_names,
    swept_verdict,
    verdict,
)
from talosmith.observed.world import EtcdSeen
from talosmith.talos import Denied

# What kubelets report while no CNI has written its configuration on the node.
_NO_NETWORK = ("NetworkPluginNotReady", "cni plugin not initialized")

_Look = Callable[[Round], Awaitable[Verdict]]
_Row = tuple[str, str, str, str, _Look]  # id, Talos' name, the fact, its contrary


def conditions(expected: Expected, *, kubernetes: bool) -> list[Check]:
    rows: list[_Row] = [
        ("etcd-healthy", "etcd to be healthy", "etcd is healthy", "etcd is not healthy", _etcd_healthy),
        (
            "etcd-consistent",
            "etcd members to be consistent across nodes",
            "etcd member lists are consistent",
            "etcd member lists are not consistent",
            _etcd_consistent,
        ),
        (
            "etcd-members",
            "etcd members to be control plane nodes",
            "etcd members are the control planes",
            "etcd members are not the control planes",
            _etcd_members,
        ),
        ("apid", "apid to be ready", "apid is ready", "apid is not ready", _apid),
        ("diagnostics", "no diagnostics", "no Talos diagnostics", "Talos diagnostics are not clear", _diagnostics),
        ("kubelet", "kubelet to be healthy", "kubelet is healthy", "kubelet is not healthy", _kubelets),
        (
            "boot",
            "all nodes to finish boot sequence",
            "boot sequence is finished",
            "boot sequence is not finished",
            _booted,
        ),
    ]
    checks = [Check(*row[:4], caught(row[4])) for row in rows]
    if kubernetes:
        checks += [Check(*row[:4], caught(row[4]), of_kubernetes=True) for row in _kubernetes(expected)]
    return checks


def _kubernetes(expected: Expected) -> list[_Row]:
    proxy: list[_Row] = [
        ("kube-proxy", "kube-proxy to report ready", "kube-proxy is ready", "kube-proxy is not ready", _proxy)
    ]
    core_dns: list[_Row] = [
        ("coredns", "coredns to report ready", "CoreDNS is ready", "CoreDNS is not ready", _core_dns)
    ]
    endpoint: list[_Row] = [
        (
            "endpoint",
            "Kubernetes API to answer at its endpoint",
            "Kubernetes API answers at its endpoint",
            "Kubernetes API does not answer at its endpoint",
            _endpoint,
        )
    ]
    return [
        (
            "node-objects",
            "all k8s nodes to report",
            "Node objects match the inventory",
            "Node objects do not match the inventory",
            _reporting,
        ),
        (
            "static-pods",
            "all control plane static pods to be running",
            "control plane static pods are running",
            "control plane static pods are not running",
            _static_pods,
        ),
        (
            "components",
            "all control plane components to be ready",
            "control plane components are ready",
            "control plane components are not ready",
            _components,
        ),
        ("nodes-ready", "all k8s nodes to report ready", "nodes are Ready", "nodes are NotReady", _ready),
        *(proxy if expected.proxy else []),
        *(core_dns if expected.core_dns else []),
        *(endpoint if expected.endpoint else []),
        (
            "schedulable",
            "all k8s nodes to report schedulable",
            "nodes are schedulable",
            "nodes are cordoned",
            _schedulable,
        ),
    ]


async def _etcd_healthy(found: Round) -> Verdict:
    swept = await found.etcd()
    failures = [_etcd_failure(name, seen) for name, seen in swept.results.items() if not seen.healthy]
    learners = {member.name for seen in swept.results.values() for member in seen.members if member.learner}
    failures += [Failure(name, "is a learner, not a voting member yet") for name in learners if name]
    judged = swept_verdict(found.expected.controlplanes, swept, failures)
    alarms = sorted({alarm for seen in swept.results.values() for alarm in seen.alarms})  # all members list them all
    return Verdict(False, f"alarm {', '.join(alarms)}") if judged.ok and alarms else judged


def _etcd_failure(name: str, seen: EtcdSeen) -> Failure:
    if seen.waiting:
        return Failure(name, "waits for the bootstrap, or to join", "not-bootstrapped")
    return Failure(name, "; ".join(seen.errors) or f"etcd service is {seen.state}")


async def _etcd_consistent(found: Round) -> Verdict:
    swept = await found.etcd()
    lists = {
        name: frozenset((member.id, member.name, member.learner) for member in seen.members)
        for name, seen in swept.results.items()
    }
    if len(set(lists.values())) > 1:
        return Verdict(False, ", ".join(f"{name} lists {len(members)}" for name, members in sorted(lists.items())))
    return swept_verdict(found.expected.controlplanes, swept)


async def _etcd_members(found: Round) -> Verdict:
    swept = await found.etcd()
    names = {member.name or f"{member.id:x}" for seen in swept.results.values() for member in seen.members}
    return same_names(
        names, found.expected.controlplanes, "not an etcd member", "etcd member, but not a control plane"
    )


async def _apid(found: Round) -> Verdict:
    return swept_verdict(found.expected.nodes, await found.services())


async def _diagnostics(found: Round) -> Verdict:
    swept = await found.diagnostics()
    for name in [name for name, wrong in swept.errors.items() if isinstance(wrong, Denied)]:
        del swept.errors[name]  # the role of the client certificate does not include them
    return swept_verdict(
        (),
        swept,
        [Failure(name, "; ".join(one.message for one in each)) for name, each in swept.results.items() if each],
    )


async def _kubelets(found: Round) -> Verdict:
    swept = await found.services()
    failures = []
    for name, services in swept.results.items():
        kubelet = next((one for one in services if one.id == "kubelet"), None)
        if kubelet is None:
            failures.append(Failure(name, "no kubelet service yet"))
        elif not kubelet.running or not kubelet.healthy:
            health = f": {kubelet.message}" if kubelet.message else ""
            failures.append(Failure(name, f"kubelet service is {kubelet.state}{health}"))
    return swept_verdict(found.expected.nodes, swept, failures)


async def _booted(found: Round) -> Verdict:
    swept = await found.statuses()
    failures = [
        Failure(name, f"stage is {one.stage}" + "".join(f"; {unmet.name}: {unmet.reason}" for unmet in one.unmet))
        for name, one in swept.results.items()
        if one.stage != "running"
    ]
    return swept_verdict(found.expected.nodes, swept, failures)


async def _reporting(found: Round) -> Verdict:
    nodes = await found.kube_nodes()
    return same_names(
        set(nodes), found.expected.registered, "no Node object", "Node object, but not in the inventory"
    )


async def _endpoint(found: Round) -> Verdict:
    try:
        await found.endpoint_version()
    except (TalosmithError, TimeoutError) as wrong:
        return Verdict(False, f"{found.expected.endpoint}: {wrong or 'no answer in time'}")
    return OK


async def _static_pods(found: Round) -> Verdict:
    swept = await found.static_pods()
    failures = []
    for name, pods in swept.results.items():
        phases = {pod.id.rpartition("/")[2]: str(pod.spec.get("phase") or "missing") for pod in pods}
        wrong = []
        for component in found.expected.components:
            phase = next((one for pod, one in phases.items() if pod.startswith(component)), "missing")
            wrong += [f"{component} is {phase}"] if phase != "Running" else []
        failures += [Failure(name, ", ".join(wrong))] if wrong else []
    return swept_verdict(found.expected.controlplanes, swept, failures)


async def _components(found: Round) -> Verdict:
    pods = await found.components()
    for component in found.expected.components:
        mine = [pod for pod in pods if labels(pod).get("k8s-app") == component]
        waiting = [
            f"{pod['metadata']['name']}: {judged.reason}" for pod in mine if not (judged := has(pod, "Ready")).ok
        ]
        if waiting:
            return Verdict(False, waiting[0])
        if len(mine) != len(found.expected.controlplanes):
            return Verdict(False, f"{len(mine)} pods of {component}, {len(found.expected.controlplanes)} expected")
    return OK


async def _ready(found: Round) -> Verdict:
    nodes = await found.kube_nodes()
    waiting = {name: node.reason for name, node in nodes.items() if not node.ready}
    without = {name for name, reason in waiting.items() if any(words in reason for words in _NO_NETWORK)}
    if not found.expected.without_cni or len(waiting) < len(nodes) or (without and await found.cni_daemon_sets()):
        without = set()  # a node that is Ready, or the DaemonSet of a CNI, proves that one is installed
    return verdict(Failure(name, reason, "no-cni" if name in without else "") for name, reason in waiting.items())


async def _proxy(found: Round) -> Verdict:
    return _workload(await found.daemon_set(PROXY), "DaemonSet", PROXY)


async def _core_dns(found: Round) -> Verdict:
    return _workload(await found.deployment(CORE_DNS), "Deployment", CORE_DNS)


async def _schedulable(found: Round) -> Verdict:
    cordoned = {name: node.cordoned_by for name, node in (await found.kube_nodes()).items() if node.cordoned_by}
    ours = {name: f"cordoned by {who}" for name, who in cordoned.items() if who != "other"}
    if ours or not cordoned:
        return by_node(ours)
    names = sorted(cordoned)
    return Verdict(True, f"{', '.join(names)} cordoned, not by talosmith: kubectl uncordon {' '.join(names)}")


def _workload(item: Object | None, kind: str, name: str) -> Verdict:
    judged = ready(Ref("apps/v1", kind, name, "kube-system")).judge(item)
    return OK if judged.ok else Verdict(False, f"{kind} {name}: {judged.reason}")
