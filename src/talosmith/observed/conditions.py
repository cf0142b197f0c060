"""When a cluster is healthy: a list of conditions, in the order in which they come true, each with what it saw.

They are those of `talosctl health`, under the names it has for them, so that both can be held side by side. Three
differ on purpose: nodes are compared with the inventory instead of with what discovery says; a cluster that is to get
its CNI from another tool need not be Ready before that has happened; and a node that an administrator has cordoned is
named, not waited for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from talosmith.errors import TalosmithError
from talosmith.kube import Ref
from talosmith.kube.conditions import has, ready
from talosmith.kube.objects import Object, labels
from talosmith.observed.round import CORE_DNS, PROXY, Expected, Round
from talosmith.observed.world import EtcdSeen
from talosmith.talos import Denied, Swept

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a condition holds, and the last thing seen."""

    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A condition. `look` raises nothing but what is a defect of ours."""

    name: str
    look: Callable[[Round], Awaitable[Verdict]]


OK = Verdict(True, "OK")


def conditions(expected: Expected, *, kubernetes: bool) -> list[Check]:
    found = [
        ("etcd to be healthy", _etcd_healthy),
        ("etcd members to be consistent across nodes", _etcd_consistent),
        ("etcd members to be control plane nodes", _etcd_members),
        ("apid to be ready", _apid),
        ("no diagnostics", _diagnostics),
        ("kubelet to be healthy", _kubelets),
        ("all nodes to finish boot sequence", _booted),
    ]
    if kubernetes:
        found += [
            ("all k8s nodes to report", _reporting),
            ("all control plane static pods to be running", _static_pods),
            ("all control plane components to be ready", _components),
            ("all k8s nodes to report ready", _ready),
            *([("kube-proxy to report ready", _proxy)] if expected.proxy else []),
            *([("coredns to report ready", _core_dns)] if expected.core_dns else []),
            ("all k8s nodes to report schedulable", _schedulable),
        ]
    return [Check(name, _caught(look)) for name, look in found]


def _caught(look: Callable[[Round], Awaitable[Verdict]]) -> Callable[[Round], Awaitable[Verdict]]:
    async def caught(round: Round) -> Verdict:  # noqa: A002 - a round of looking
        try:
            return await look(round)
        except TalosmithError as wrong:
            return Verdict(False, str(wrong))

    return caught


async def _etcd_healthy(found: Round) -> Verdict:
    swept = await found.etcd()
    bad = {name: _ails(seen) for name, seen in swept.results.items() if not seen.healthy}
    learning = [
        member.name for seen in swept.results.values() for member in seen.members if member.learner and member.name
    ]
    return _all_of(found.expected.controlplanes, swept, {**bad, **dict.fromkeys(learning, "it is still learning")})


def _ails(seen: EtcdSeen) -> str:
    if seen.waiting:
        return "it waits for a bootstrap, or to join"
    return "; ".join(seen.errors) or f"it is {seen.state.lower()}"


async def _etcd_consistent(found: Round) -> Verdict:
    swept = await found.etcd()
    lists = {
        name: frozenset((member.id, member.name, member.learner) for member in seen.members)
        for name, seen in swept.results.items()
    }
    if len(set(lists.values())) > 1:
        counts = ", ".join(f"{name} knows {len(members)}" for name, members in sorted(lists.items()))
        return Verdict(False, f"the members do not agree about who they are: {counts}")
    return _all_of(found.expected.controlplanes, swept, {})


async def _etcd_members(found: Round) -> Verdict:
    swept = await found.etcd()
    names = {member.name or f"{member.id:x}" for seen in swept.results.values() for member in seen.members}
    return _same(names, found.expected.controlplanes, "no member of etcd", "a member of etcd, but no control plane")


async def _apid(found: Round) -> Verdict:
    return _all_of(found.expected.nodes, await found.services(), {})


async def _diagnostics(found: Round) -> Verdict:
    swept = await found.diagnostics()
    for name in [name for name, wrong in swept.errors.items() if isinstance(wrong, Denied)]:
        del swept.errors[name]  # our role does not let us see them
    bad = {name: items[0].message for name, items in swept.results.items() if items}
    return _all_of((), swept, bad)


async def _kubelets(found: Round) -> Verdict:
    swept = await found.services()
    bad = {}
    for name, services in swept.results.items():
        kubelet = next((one for one in services if one.id == "kubelet"), None)
        if kubelet is None:
            bad[name] = "it has no kubelet yet"
        elif not kubelet.running or not kubelet.healthy:
            bad[name] = f"its kubelet is {kubelet.state.lower()}" + (
                f": {kubelet.message}" if kubelet.message else ""
            )
    return _all_of(found.expected.nodes, swept, bad)


async def _booted(found: Round) -> Verdict:
    swept = await found.statuses()
    bad = {
        name: f"it is {one.stage}" + "".join(f"; {unmet.name}: {unmet.reason}" for unmet in one.unmet)
        for name, one in swept.results.items()
        if one.stage != "running"
    }
    return _all_of(found.expected.nodes, swept, bad)


async def _reporting(found: Round) -> Verdict:
    nodes = await found.kube_nodes()
    return _same(
        set(nodes), found.expected.registered, "not in Kubernetes", "in Kubernetes, but not in the inventory"
    )


async def _static_pods(found: Round) -> Verdict:
    swept = await found.static_pods()
    bad: dict[str, str] = {}
    for name, pods in swept.results.items():
        states = {pod.id.rpartition("/")[2]: pod.spec for pod in pods}
        for component in found.expected.components:
            state = next((spec for pod, spec in states.items() if pod.startswith(component)), None)
            phase = str(state.get("phase") or "not there") if state else "not there"
            if phase != "Running":
                bad.setdefault(name, f"its {component} is {phase.lower()}")
    return _all_of(found.expected.controlplanes, swept, bad)


async def _components(found: Round) -> Verdict:
    pods = await found.components()
    for component in found.expected.components:
        mine = [pod for pod in pods if labels(pod).get("k8s-app") == component]
        waiting = [
            f"{pod['metadata']['name']}: {verdict.reason}" for pod in mine if not (verdict := has(pod, "Ready")).ok
        ]
        if waiting:
            return Verdict(False, waiting[0])
        if len(mine) != len(found.expected.controlplanes):
            return Verdict(False, f"{len(mine)} pods of {component}, {len(found.expected.controlplanes)} expected")
    return OK


async def _ready(found: Round) -> Verdict:
    nodes = await found.kube_nodes()
    waiting = {name: node.reason for name, node in nodes.items() if not node.ready}
    if found.expected.without_cni and waiting and len(waiting) == len(nodes):
        lost = {name: reason for name, reason in waiting.items() if "NodeStatusUnknown" in reason}
        return _verdict(lost) if lost else Verdict(True, "not Ready, as there is no CNI yet")
    return _verdict(waiting)


async def _proxy(found: Round) -> Verdict:
    return _workload(await found.daemon_set(PROXY), "DaemonSet", PROXY)


async def _core_dns(found: Round) -> Verdict:
    if found.expected.without_cni and not any(node.ready for node in (await found.kube_nodes()).values()):
        return Verdict(True, "not running, as there is no CNI yet")
    return _workload(await found.deployment(CORE_DNS), "Deployment", CORE_DNS)


async def _schedulable(found: Round) -> Verdict:
    cordoned = {name: node.cordoned_by for name, node in (await found.kube_nodes()).items() if node.cordoned_by}
    ours = {name: f"cordoned by {who}" for name, who in cordoned.items() if who != "other"}
    if ours or not cordoned:
        return _verdict(ours)
    return Verdict(True, f"{', '.join(sorted(cordoned))} cordoned, not by talosmith; `kubectl uncordon` ends that")


def _workload(item: Object | None, kind: str, name: str) -> Verdict:
    verdict = ready(Ref("apps/v1", kind, name, "kube-system")).judge(item)
    return Verdict(verdict.ok, "OK" if verdict.ok else f"{name}: {verdict.reason}")


def _all_of(expected: Iterable[str], swept: Swept[T], bad: dict[str, str]) -> Verdict:
    """Everybody has answered, and nobody badly."""
    silent = {name: "it was not asked" for name in expected if name not in swept.results and name not in swept.errors}
    return _verdict({**silent, **{name: str(wrong) for name, wrong in swept.errors.items()}, **bad})


def _same(found: set[str], expected: Iterable[str], missing: str, extra: str) -> Verdict:
    wanted = set(expected)
    return _verdict({**dict.fromkeys(wanted - found, missing), **dict.fromkeys(found - wanted, extra)})


def _verdict(bad: dict[str, str]) -> Verdict:
    if not bad:
        return OK
    name = min(bad)
    told = bad[name] if bad[name].startswith(name) else f"{name}: {bad[name]}"
    return Verdict(False, told + (f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""))
