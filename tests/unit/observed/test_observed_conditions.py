"""Every health condition, with facts that fulfil it and facts that do not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from talosmith.desired.target import Desired
from talosmith.kube import KubeNode, errors
from talosmith.kube.nodes import CORDON_ANNOTATION as OURS
from talosmith.observed.conditions import conditions
from talosmith.observed.round import Expected, Round
from talosmith.observed.verdicts import Failure, Verdict
from talosmith.observed.world import EtcdMemberSeen, EtcdSeen
from talosmith.talos import Denied, Diagnostic, MachineStatus, Service, Swept, Unmet, Unreachable

CONTROL_PLANES = ("cp-1", "cp-2", "cp-3")
ALL = (*CONTROL_PLANES, "w-1", "w-2")
MEMBERS = tuple(
    EtcdMemberSeen(id=number, name=name, learner=False) for number, name in enumerate(CONTROL_PLANES, start=1)
)


TALOS = "talos.dev/cordoned"


def member(number: int, **changes: Any) -> EtcdSeen:
    seen = EtcdSeen(state="Running", healthy=True, member_id=number, leader=1, members=MEMBERS)
    return dataclasses.replace(seen, **changes)


def service(id_: str = "kubelet", state: str = "Running", healthy: bool | None = True) -> Service:
    return Service(id_, state, healthy, "" if healthy else "it does not answer", ())


def kube_node(name: str, ready: str = "True", why: str = "", cordoned: str = "") -> KubeNode:
    """`cordoned`: the annotation that tells by whom, or any other word."""
    return KubeNode.of(
        {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {"name": name, "annotations": {cordoned: "true"}},
            "spec": {"unschedulable": True} if cordoned else {},
            "status": {"conditions": [{"type": "Ready", "status": ready, "reason": why or "KubeletReady"}]},
        }
    )


def pod(component: str, name: str, ready: str = "True") -> dict[str, Any]:
    return {
        "metadata": {"name": f"{component}-{name}", "labels": {"k8s-app": component}},
        "status": {"conditions": [{"type": "Ready", "status": ready, "reason": "Because"}]},
    }


def workload(kind: str, have: int, want: int) -> dict[str, Any]:
    counts = {
        "DaemonSet": {"desiredNumberScheduled": want, "updatedNumberScheduled": want, "numberAvailable": have},
        "Deployment": {"replicas": want, "updatedReplicas": want, "availableReplicas": have},
    }[kind]
    return {"kind": kind, "metadata": {"generation": 1}, "spec": {"replicas": want},
            "status": {"observedGeneration": 1, **counts}}  # fmt: skip


class Static:
    """As much of a resource as is looked at."""

    def __init__(self, id_: str, phase: str) -> None:
        self.id, self.spec = id_, {"phase": phase}


class Facts(Round):
    """A round that was told what it would find: a healthy cluster, but for what a test changes."""

    def __init__(self, expected: Expected, **found: Any) -> None:
        super().__init__(expected, {}, None)
        components = [pod(component, name) for component in expected.components for name in CONTROL_PLANES]
        pods = tuple(Static(f"kube-system/{name}-x", "Running") for name in expected.components)
        self.found: dict[str, Any] = {
            "services": Swept({name: (service(),) for name in ALL}),
            "statuses": Swept({name: MachineStatus("running", True, ()) for name in ALL}),
            "etcd": Swept({name: member(number) for number, name in enumerate(CONTROL_PLANES, start=1)}),
            "diagnostics": Swept(dict.fromkeys(ALL, ())),
            "static_pods": Swept(dict.fromkeys(CONTROL_PLANES, pods)),
            "kube_nodes": {name: kube_node(name) for name in ALL},
            "components": components,
            "cni_daemon_sets": [],
            "kube-proxy": workload("DaemonSet", 5, 5),
            "coredns": workload("Deployment", 2, 2),
            **found,
        }

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name in ("expected", "found"):
            return super().__getattribute__(name)

        async def told(*which: str) -> Any:
            answer = self.found[which[0] if which else name]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return told


@pytest.fixture
def expected(desired: Desired) -> Expected:
    return Expected.of(desired)


async def look(facts: Facts) -> dict[str, Verdict]:
    return {check.name: await check.look(facts) for check in conditions(facts.expected, kubernetes=True)}


def swept(good: Any, **bad: Any) -> Swept[Any]:
    return Swept({**dict.fromkeys(ALL, good), **{name.replace("_", "-"): value for name, value in bad.items()}})


def test_what_is_expected_comes_from_the_configs(expected: Expected) -> None:
    assert expected.controlplanes == CONTROL_PLANES
    assert expected.registered == ALL
    assert expected.components == ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    assert (expected.without_cni, expected.proxy, expected.core_dns) == (False, True, True)


async def test_a_healthy_cluster_fulfils_all(expected: Expected) -> None:
    assert {name: verdict.ok for name, verdict in (await look(Facts(expected))).items()} == dict.fromkeys(
        [check.name for check in conditions(expected, kubernetes=True)], True
    )


GONE = Swept(
    {name: member(number) for number, name in ((1, "cp-1"), (3, "cp-3"))}, {"cp-2": Unreachable("cp-2", "off")}
)
BROKEN: dict[str, tuple[str, dict[str, Any], str]] = {
    "a member has no leader": (
        "etcd to be healthy",
        {
            "etcd": Swept(
                {"cp-1": member(1), "cp-2": member(2, healthy=False, errors=("no leader",)), "cp-3": member(3)}
            )
        },
        "cp-2: no leader",
    ),
    "a control plane does not answer": ("etcd to be healthy", {"etcd": GONE}, "cp-2: off"),
    "a learner": (
        "etcd to be healthy",
        {
            "etcd": Swept(
                {
                    name: member(number, members=(*MEMBERS[:2], EtcdMemberSeen(id=3, name="cp-3", learner=True)))
                    for number, name in enumerate(CONTROL_PLANES, start=1)
                }
            )
        },
        "cp-3: is a learner, not a voting member yet",
    ),
    "an alarm": (
        "etcd to be healthy",
        {
            "etcd": Swept(
                {name: member(number, alarms=("NOSPACE on 1",)) for number, name in enumerate(CONTROL_PLANES, 1)}
            )
        },
        "alarm NOSPACE on 1",
    ),
    "two opinions": (
        "etcd members to be consistent across nodes",
        {"etcd": Swept({"cp-1": member(1), "cp-2": member(2), "cp-3": member(3, members=MEMBERS[2:])})},
        "cp-3 lists 1",
    ),
    "a member too few": (
        "etcd members to be control plane nodes",
        {"etcd": Swept({name: member(number, members=MEMBERS[:2]) for number, name in enumerate(CONTROL_PLANES, 1)})},
        "cp-3: not an etcd member",
    ),
    "a node does not answer": (
        "apid to be ready",
        {"services": Swept(dict.fromkeys(ALL[:4], (service(),)), {"w-2": Unreachable("w-2", "connection refused")})},
        "w-2: connection refused",
    ),
    "something is wrong by its own account": (
        "no diagnostics",
        {"diagnostics": swept((), w_1=(Diagnostic("x", "an address conflict", ()),))},
        "w-1: an address conflict",
    ),
    "an ill kubelet": (
        "kubelet to be healthy",
        {"services": swept((service(),), w_1=(service(healthy=False),))},
        "w-1: kubelet service is Running: it does not answer",
    ),
    "a node still boots": (
        "all nodes to finish boot sequence",
        {
            "statuses": swept(
                MachineStatus("running", True, ()), w_1=MachineStatus("booting", False, (Unmet("a", "b"),))
            )
        },
        "w-1: stage is booting; a: b",
    ),
    "a node is missing in Kubernetes": (
        "all k8s nodes to report",
        {"kube_nodes": {name: kube_node(name) for name in ALL[:4]}},
        "w-2: no Node object",
    ),
    "a node too many in Kubernetes": (
        "all k8s nodes to report",
        {"kube_nodes": {name: kube_node(name) for name in (*ALL, "w-9")}},
        "w-9: Node object, but not in the inventory",
    ),
    "a static pod is not up": (
        "all control plane static pods to be running",
        {
            "static_pods": Swept(
                {**dict.fromkeys(CONTROL_PLANES, ()), "cp-1": (Static("a/kube-apiserver-x", "Pending"),)}
            )
        },
        "cp-1: kube-apiserver is Pending, kube-controller-manager is missing",
    ),
    "a component is not ready": (
        "all control plane components to be ready",
        {"components": [pod("kube-apiserver", "cp-1", "False")]},
        "kube-apiserver-cp-1: Because",
    ),
    "a component too few": (
        "all control plane components to be ready",
        {"components": [pod("kube-apiserver", name) for name in CONTROL_PLANES[:2]]},
        "2 pods of kube-apiserver, 3 expected",
    ),
    "a node is not Ready": (
        "all k8s nodes to report ready",
        {
            "kube_nodes": {
                **{name: kube_node(name) for name in ALL},
                "w-1": kube_node("w-1", "False", "KubeletNotReady"),
            }
        },
        "w-1: KubeletNotReady",
    ),
    "no kube-proxy": ("kube-proxy to report ready", {"kube-proxy": None}, "kube-proxy: not there"),
    "too little CoreDNS": ("coredns to report ready", {"coredns": workload("Deployment", 1, 2)}, "coredns: 1 of 2"),
    "a cordoned node": (
        "all k8s nodes to report schedulable",
        {"kube_nodes": {name: kube_node(name, cordoned=OURS if name == "w-2" else "") for name in ALL}},
        "w-2: cordoned by talosmith",
    ),
    "a node that Talos is rebooting": (
        "all k8s nodes to report schedulable",
        {
            "kube_nodes": {
                name: kube_node(name, cordoned="talos.dev/cordoned" if name == "w-2" else "") for name in ALL
            }
        },
        "w-2: cordoned by Talos",
    ),
    "no API server": (
        "all k8s nodes to report",
        {"kube_nodes": errors.Unreachable("cp-1", "refused")},
        "refused",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_what_is_wrong_is_found_and_told(expected: Expected, case: str) -> None:
    name, found, detail = BROKEN[case]
    verdict = (await look(Facts(expected, **found)))[name]
    assert not verdict.ok
    assert detail in verdict.detail


async def test_a_cordon_of_an_administrator_is_named_and_not_waited_for(expected: Expected) -> None:
    nodes = {name: kube_node(name, cordoned="by hand" if name == "w-2" else "") for name in ALL}
    verdict = (await look(Facts(expected, kube_nodes=nodes)))["all k8s nodes to report schedulable"]
    assert verdict.ok and "w-2 cordoned, not by talosmith" in verdict.detail


async def test_diagnostics_that_we_may_not_see_do_not_count(expected: Expected) -> None:
    found = Swept({}, {name: Denied(name, "role") for name in ALL})
    assert (await look(Facts(expected, diagnostics=found)))["no diagnostics"].ok


async def test_all_nodes_that_fail_are_named(expected: Expected) -> None:
    nodes = {name: kube_node(name, "False", "KubeletNotReady") for name in ALL}
    verdict = (await look(Facts(expected, kube_nodes=nodes)))["all k8s nodes to report ready"]
    assert [failure.node for failure in verdict.failures] == sorted(ALL)
    assert verdict.detail == "cp-1: KubeletNotReady (and 4 more)"


async def test_checks_keep_the_names_of_talos_and_read_as_facts(expected: Expected) -> None:
    etcd, *others = conditions(expected, kubernetes=True)
    assert (etcd.id, etcd.name, etcd.fact) == ("etcd-healthy", "etcd to be healthy", "etcd is healthy")
    assert etcd.sentence(Verdict(False, "cp-2: no leader")) == "etcd is not healthy: cp-2: no leader"
    assert len({check.id for check in (etcd, *others)}) == 14


NETWORK = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"


@pytest.mark.parametrize(
    ("ready", "why", "daemon_sets", "kind"),
    [
        (0, NETWORK, [], "no-cni"),
        (0, NETWORK, ["cilium"], ""),  # one is installed, and starts
        (2, NETWORK, [], ""),  # a Ready node proves that one is installed, in whatever way
        (0, "NodeStatusUnknown", [], ""),  # the kubelet is gone, which no CNI repairs
    ],
)
async def test_nodes_without_a_cni_are_not_healthy(
    expected: Expected, ready: int, why: str, daemon_sets: list[str], kind: str
) -> None:
    none = dataclasses.replace(expected, without_cni=True)
    nodes = {
        name: kube_node(name) if index < ready else kube_node(name, "False", why) for index, name in enumerate(ALL)
    }
    looked = await look(Facts(none, kube_nodes=nodes, cni_daemon_sets=daemon_sets))
    verdict = looked["all k8s nodes to report ready"]
    assert not verdict.ok
    assert verdict.failures == tuple(Failure(name, why, kind) for name in ALL[ready:])  # type: ignore[arg-type]


async def test_a_cni_that_talos_installs_is_not_called_missing(expected: Expected) -> None:
    nodes = {name: kube_node(name, "False", NETWORK) for name in ALL}
    looked = await look(Facts(expected, kube_nodes=nodes))
    assert {failure.kind for failure in looked["all k8s nodes to report ready"].failures} == {""}
