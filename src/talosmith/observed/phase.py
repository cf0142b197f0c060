"""The phase of a node: one word for what it is doing now, from what was observed. `status` and the live view show it.

Talos' stage alone does not say it: a control plane that joins etcd and a member that comes back from a reboot are
both `booting`, and a `running` node may not be Ready in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from talosmith.model.machines import Machine
from talosmith.observed.world import EtcdSeen, KubeNodeSeen, NodeSeen, Unknown

Phase = Literal[
    "no-machine",  # the machine does not exist
    "off",
    "booting",  # on the way up: before maintenance mode, or a member that comes back
    "maintenance",  # waits for a machine config
    "installing",
    "rebooting",
    "upgrading",
    "resetting",
    "shutting-down",
    "joining",  # has its machine config, and is not a member of etcd or of Kubernetes yet
    "running",  # Talos runs; Kubernetes could not be asked about the node
    "ready",
    "not-ready",
    "unreachable",  # the machine is on, and its Talos API does not answer
    "foreign",  # another cluster's node, or another node, answers at its address
    "unknown",
]

_STAGES: dict[str, Phase] = {  # Talos' stages that are phases by themselves
    "maintenance": "maintenance",
    "installing": "installing",
    "rebooting": "rebooting",
    "upgrading": "upgrading",
    "resetting": "resetting",
    "shutting down": "shutting-down",
}
_SHOWN: dict[Phase, str] = {"ready": "Ready", "not-ready": "NotReady"}  # as kubectl has them
_POD_NAMESPACE = "kube-system/"


def shown(phase: Phase) -> str:
    """The phase as text: `no machine`, `Ready`, `NotReady`."""
    return _SHOWN.get(phase, phase.replace("-", " "))


def phase_of(seen: NodeSeen) -> Phase:
    if seen.foreign_reason:
        return "foreign"
    if isinstance(seen.stage, str):
        return phase_of_stage(seen.stage, is_member=isinstance(seen.kube, KubeNodeSeen)) or _running(seen)
    if isinstance(seen.machine, Unknown):
        return "unknown"
    if seen.machine is None:
        return "no-machine"
    if isinstance(seen.machine, Machine) and seen.machine.power == "off":
        return "off"
    return "unreachable"


def phase_of_stage(stage: str, *, is_member: bool) -> Phase | None:
    """By Talos' stage; None where that is `running`, which says nothing about etcd and Kubernetes.

    `is_member`: Kubernetes has known the node before.
    """
    if stage == "running":
        return None
    if stage == "booting":
        return "booting" if is_member else "joining"
    return _STAGES.get(stage, "unknown")


def _running(seen: NodeSeen) -> Phase:
    if isinstance(seen.etcd, EtcdSeen) and (seen.etcd.waiting or is_learner(seen.etcd)):
        return "joining"
    if isinstance(seen.kube, KubeNodeSeen):
        return "ready" if seen.kube.ready else "not-ready"
    return "running" if isinstance(seen.kube, Unknown) else "joining"


def is_learner(etcd: EtcdSeen) -> bool:
    return any(member.id == etcd.member_id and member.learner for member in etcd.members)


def unmet_text(unmet: Iterable[str]) -> str:
    """Talos' conditions that keep a node from being ready, each `name: reason`, as short as they can be searched for.

    `services: etcd not running` and `staticPods: kube-system/kube-apiserver pending, …` become `etcd not running,
    kube-apiserver pending, …`.
    """
    return ", ".join(dict.fromkeys(filter(None, map(_unmet, unmet))))


def _unmet(condition: str) -> str:
    name, separator, reason = condition.partition(": ")
    if not separator:
        return condition
    if name == "nodeReady":
        return "node is not Ready" if reason.endswith("is not ready") else reason
    return reason.replace(_POD_NAMESPACE, "") if name in ("services", "staticPods") else f"{name}: {reason}"
