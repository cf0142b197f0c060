"""The phase of a node: every kind of observation has one, and only one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from talosmith.model.machines import Machine
from talosmith.observed.phase import Phase, phase_of, shown, unmet_text
from talosmith.observed.world import EtcdMemberSeen, EtcdSeen, KubeNodeSeen, NodeSeen, Unknown

ON = Machine(id="1", name="cp-1", role="controlplane", power="on")
NODE = NodeSeen(name="cp-1", machine=ON, stage="running")
READY = KubeNodeSeen(name="cp-1", ready=True, version="v1.36.3")
MEMBERS = (EtcdMemberSeen(id=1, name="cp-1", learner=True),)
CASES: dict[str, tuple[Phase, dict[str, Any]]] = {
    "does not exist": ("no-machine", {"machine": None, "stage": None}),
    "powered off": ("off", {"machine": replace(ON, power="off"), "stage": None}),
    "powered off, by the provider": ("off", {"machine": replace(ON, power="off"), "stage": Unknown("no route")}),
    "on, and no Talos API": ("unreachable", {"stage": Unknown("connection refused")}),
    "provider does not answer": ("unknown", {"machine": Unknown("401"), "stage": Unknown("no route")}),
    "provider does not answer, Talos does": ("ready", {"machine": Unknown("401"), "kube": READY}),
    "another cluster's certificate": ("foreign", {"stage": Unknown("x509"), "foreign_reason": "another CA"}),
    "something at the address of a machine to create": ("foreign", {"machine": None, "foreign_reason": "a node"}),
    "no machine config": ("maintenance", {"stage": "maintenance"}),
    "first installation": ("installing", {"stage": "installing"}),
    "reboots": ("rebooting", {"stage": "rebooting", "kube": READY}),
    "upgrades": ("upgrading", {"stage": "upgrading", "kube": READY}),
    "resets": ("resetting", {"stage": "resetting"}),
    "shuts down": ("shutting-down", {"stage": "shutting down"}),
    "a stage of a later Talos": ("unknown", {"stage": "dreaming"}),
    "comes back": ("booting", {"stage": "booting", "kube": replace(READY, ready=False)}),
    "boots for the first time": ("joining", {"stage": "booting"}),
    "etcd waits": ("joining", {"etcd": EtcdSeen(state="Preparing", waiting=True), "kube": READY}),
    "etcd learner": ("joining", {"etcd": EtcdSeen(state="Running", member_id=1, members=MEMBERS), "kube": READY}),
    "no Node object": ("joining", {"kube": None}),
    "Ready": ("ready", {"kube": READY}),
    "not Ready": ("not-ready", {"kube": replace(READY, ready=False)}),
    "Kubernetes does not answer": ("running", {"kube": Unknown("context deadline exceeded")}),
}


@pytest.mark.parametrize(("phase", "seen"), CASES.values(), ids=CASES)
def test_each_observation_has_its_phase(phase: Phase, seen: dict[str, Any]) -> None:
    assert phase_of(replace(NODE, **seen)) == phase


def test_every_phase_has_a_case_and_fits_the_table() -> None:
    assert {phase for phase, _ in CASES.values()} == set(get_args(Phase))
    assert [shown(phase) for phase in ("ready", "not-ready", "no-machine")] == ["Ready", "NotReady", "no machine"]
    assert max(len(shown(phase)) for phase in get_args(Phase)) <= 13


def test_unmet_conditions_are_as_short_as_they_can_be_searched_for() -> None:
    unmet = (
        "services: etcd not running",
        "staticPods: kube-system/kube-apiserver pending, kube-system/kube-scheduler pending",
        "nodeReady: node 'cp-1' is not ready",
        "time: not synced",
    )
    assert unmet_text(unmet) == (
        "etcd not running, kube-apiserver pending, kube-scheduler pending, node is not Ready, time: not synced"
    )
