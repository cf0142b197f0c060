"""Failed checks are folded into the causes that they are symptoms of."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired.target import Desired
from talosmith.kube import errors
from talosmith.model.machines import Machine, Power
from talosmith.observed.conditions import conditions
from talosmith.observed.root_causes import RootCause, root_causes
from talosmith.observed.round import Expected
from talosmith.talos import MachineStatus, Swept, Unreachable
from tests.unit.observed.test_observed_conditions import (
    ALL,
    CONTROL_PLANES,
    NETWORK,
    Facts,
    kube_node,
    member,
    pod,
    service,
    workload,
)

FOLDER = Path("home")


@pytest.fixture
def expected(desired: Desired) -> Expected:
    return Expected.of(desired)


def machines(**power: Power) -> dict[str, Machine]:
    states: dict[str, Power] = dict.fromkeys(ALL, "on") | {name.replace("_", "-"): how for name, how in power.items()}
    return {name: Machine(id=name, name=name, role="worker", power=how) for name, how in states.items()}


async def causes(facts: Facts, known: dict[str, Machine] | None = None) -> list[RootCause]:
    found = [(check, await check.look(facts)) for check in conditions(facts.expected, kubernetes=True)]
    failed = {check.id for check, verdict in found if not verdict.ok}
    result = root_causes(found, facts.expected, known, folder=FOLDER)
    assert {check for cause in result for check in cause.checks} == failed, "every failed check has a cause"
    return list(result)


def silent(*names: str) -> dict[str, Any]:
    """What is read while these nodes do not answer."""
    wrong = {name: Unreachable(f"{name} (10.0.0.9)", "nothing listens (connection refused)") for name in names}
    alive = [name for name in ALL if name not in names]
    voters = {name: member(index) for index, name in enumerate(CONTROL_PLANES, 1) if name not in names}
    pods = Facts(EXPECTED).found["static_pods"].results
    gone = {name: wrong[name] for name in names if name in CONTROL_PLANES}
    return {
        "services": Swept(dict.fromkeys(alive, (service(),)), wrong),
        "statuses": Swept(dict.fromkeys(alive, MachineStatus("running", True, ())), wrong),
        "etcd": Swept(voters, gone),
        "static_pods": Swept({name: pods[name] for name in voters}, gone),
        "kube_nodes": {
            name: kube_node(name, "Unknown", "NodeStatusUnknown") if name in names else kube_node(name)
            for name in ALL
        },
        "kube-proxy": workload("DaemonSet", 5 - len(names), 5),
    }


EXPECTED = Expected(
    controlplanes=CONTROL_PLANES,
    workers=ALL[3:],
    registered=ALL,
    components=("kube-apiserver",),
    without_cni=False,
    manifests=False,
    proxy=True,
    core_dns=True,
)


async def test_a_healthy_cluster_has_none(expected: Expected) -> None:
    assert await causes(Facts(expected), machines()) == []


async def test_a_machine_that_is_off_folds_all_its_symptoms() -> None:
    (cause,) = await causes(Facts(EXPECTED, **silent("cp-2")), machines(cp_2="off"))
    assert (cause.kind, cause.nodes, cause.fix) == ("machine-off", ("cp-2",), "talosmith up -i home")
    assert len(cause.checks) >= 7
    assert str(cause) == f"cp-2 is powered off: {len(cause.checks)} checks fail"


async def test_a_machine_that_does_not_exist() -> None:
    known = machines()
    del known["w-1"]
    (cause,) = await causes(Facts(EXPECTED, **silent("w-1")), known)
    assert (cause.kind, cause.cause) == ("machine-missing", "machine of w-1 does not exist")


async def test_nodes_that_do_not_answer_for_the_same_reason_are_one_cause_with_the_original_words() -> None:
    (cause,) = await causes(Facts(EXPECTED, **silent("w-1", "w-2")), None)
    assert cause.kind == "no-answer"
    assert cause.cause == "w-1, w-2 do not answer: nothing listens (connection refused)"


async def test_two_causes_stay_two() -> None:
    first, second = await causes(Facts(EXPECTED, **silent("cp-2", "w-1")), machines(cp_2="off"))
    assert (first.kind, first.nodes) == ("machine-off", ("cp-2",))
    assert (second.kind, second.nodes) == ("no-answer", ("w-1",))


async def test_control_planes_that_are_off_explain_that_etcd_has_no_quorum_and_kubernetes_no_api() -> None:
    facts = silent("cp-2", "cp-3")
    facts["etcd"].results["cp-1"] = member(1, healthy=False, errors=("etcdserver: no leader",))
    api = errors.Unreachable("cp-1", "connection refused")
    facts |= {"kube_nodes": api, "components": api, "kube-proxy": api, "coredns": api}
    (cause,) = await causes(Facts(EXPECTED, **facts), machines(cp_2="off", cp_3="off"))
    assert cause.cause == "cp-2, cp-3 are powered off, and etcd has no quorum"


async def test_etcd_without_quorum_explains_kubernetes(expected: Expected) -> None:
    ill = {name: member(index, healthy=False, errors=("no leader",)) for index, name in enumerate(CONTROL_PLANES, 1)}
    api = errors.NotReady("cp-1", "etcd failed")
    facts = Facts(expected, etcd=Swept(ill), kube_nodes=api, components=api, coredns=api, **{"kube-proxy": api})
    (cause,) = await causes(facts, machines())
    assert cause.cause == "etcd has no quorum: 0 of 3 members healthy, 2 needed (no leader)"


async def test_etcd_that_is_not_bootstrapped(expected: Expected) -> None:
    waiting = {name: member(0, healthy=False, waiting=True, members=()) for name in CONTROL_PLANES}
    api = errors.Unreachable("cp-1", "connection refused")
    facts = Facts(expected, etcd=Swept(waiting), kube_nodes=api, components=api, coredns=api, **{"kube-proxy": api})
    (cause,) = await causes(facts, machines())
    assert (cause.kind, cause.fix) == ("etcd-not-bootstrapped", "talosmith up -i home")


async def test_an_api_that_is_not_reachable_is_one_cause(expected: Expected) -> None:
    api = errors.Unreachable("cp-1", "connection refused")
    facts = Facts(expected, kube_nodes=api, components=api, coredns=api, **{"kube-proxy": api})
    (cause,) = await causes(facts, machines())
    assert cause.kind == "api-unreachable" and "connection refused" in cause.cause


async def test_no_cni_explains_nodes_and_core_dns(expected: Expected) -> None:
    facts = Facts(
        dataclasses.replace(expected, without_cni=True),
        kube_nodes={name: kube_node(name, "False", NETWORK) for name in ALL},
        coredns=workload("Deployment", 0, 2),
    )
    (cause,) = await causes(facts, machines())
    assert (cause.kind, cause.checks) == ("no-cni", ("nodes-ready", "coredns"))
    assert "no CNI is installed (cluster.network.cni: none" in cause.cause
    assert cause.fix.endswith("then: talosmith health -i home") and "home/kubeconfig" in cause.fix


async def test_the_first_check_that_fails_on_a_node_is_the_cause_of_those_after_it(expected: Expected) -> None:
    nodes = {name: kube_node(name) for name in ALL} | {"w-1": kube_node("w-1", "False", "KubeletNotReady")}
    services = Swept(dict.fromkeys(ALL, (service(),)) | {"w-1": (service(healthy=False),)})
    (cause,) = await causes(Facts(expected, services=services, kube_nodes=nodes), machines())
    assert (cause.kind, cause.nodes, cause.checks) == ("check", ("w-1",), ("kubelet", "nodes-ready"))
    assert cause.cause.startswith("kubelet is not healthy: w-1: ")
    assert cause.fix == "talosmith node logs w-1 kubelet -i home"


async def test_a_check_of_the_whole_cluster_is_a_cause_of_its_own(expected: Expected) -> None:
    components = [pod("kube-apiserver", name) for name in CONTROL_PLANES[:2]]
    (cause,) = await causes(Facts(expected, components=components), machines())
    assert (cause.nodes, cause.checks) == ((), ("components",))
    assert cause.fix == "kubectl --kubeconfig home/kubeconfig -n kube-system get pods -o wide"
