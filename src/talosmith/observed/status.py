"""The cluster as `status` shows it: header facts, and for each node its phase, its drift and why it is not healthy.

Pure: made from what was observed. In sync is `observed/sync.py`'s definition, phases are `observed/phase.py`'s. What
is healthy is defined by the checks of `observed/conditions.py`: root causes that no node shows are the cluster's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from talosmith.desired.target import Desired
from talosmith.errors import ExitCode
from talosmith.model.drift import Drift
from talosmith.model.machines import Machine
from talosmith.observed.addon_status import AddonStatus, addon_statuses
from talosmith.observed.phase import Phase, is_learner, phase_of, unmet_text
from talosmith.observed.sync import drift
from talosmith.observed.world import EtcdSeen, KubeNodeSeen, NodeSeen, Observed, Unknown

if TYPE_CHECKING:  # `status` asks its first question before it needs the checks
    from talosmith.observed.root_causes import RootCause

ConfigState = Literal["in-sync", "differs", "pending-reboot", "unknown", "none"]
EtcdState = Literal["leader", "member", "learner", "waiting", "unhealthy", "unknown", "none"]

_NOT_YET: tuple[Phase, ...] = ("maintenance", "no-machine")  # drift, but nothing that is unwell
_ON_THE_WAY: tuple[Phase, ...] = (
    "booting", "installing", "rebooting", "upgrading", "resetting", "shutting-down", "joining",
)  # fmt: skip
_OF_THE_CLUSTER = ("no-cni", "etcd-no-quorum")
_NODE_NOT_READY = "node is not Ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """One node; `problems` says why it is not healthy, and is empty if it is."""

    name: str
    role: str
    address: str
    phase: Phase
    talos: str  # version that runs; empty: not known
    kubernetes: str  # version of its kubelet; empty: not known
    etcd: EtcdState
    config: ConfigState
    cordoned_by: str
    holds_vip: bool
    drift: tuple[Drift, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """`problems`: what is wrong with the cluster as a whole, such as etcd alarms."""

    cluster: str
    at: float
    endpoint: str
    vip: str
    bootstrapped: bool | None  # None: not known
    etcd_leader: str
    etcd_members: int
    etcd_healthy: int
    wanted_talos: str
    wanted_kubernetes: str
    nodes: tuple[NodeStatus, ...]
    problems: tuple[str, ...]
    addons: tuple[AddonStatus, ...] = ()

    @property
    def vip_holder(self) -> str:
        return next((node.name for node in self.nodes if node.holds_vip), "")

    @property
    def in_sync(self) -> bool:
        """Of nodes and of add-ons."""
        return not any(node.drift for node in self.nodes) and all(one.in_sync for one in self.addons)

    @property
    def has_problems(self) -> bool:
        return bool(self.problems) or any(node.problems for node in self.nodes)

    @property
    def healthy(self) -> bool:
        """Nothing is wrong with it, and it exists."""
        return self.bootstrapped is True and not self.has_problems

    @property
    def exit_code(self) -> ExitCode:
        if self.has_problems:
            return ExitCode.UNHEALTHY
        return ExitCode.DONE if self.in_sync else ExitCode.CHANGES_PENDING


def cluster_status(desired: Desired, observed: Observed, causes: Sequence[RootCause] = ()) -> ClusterStatus:
    """`causes`: why the cluster is not healthy, if it was checked."""
    cluster = desired.cluster
    drifts: dict[str, list[Drift]] = {}
    for one in drift(desired, observed):
        drifts.setdefault(one.node, []).append(one)
    nodes = tuple(_node(desired, seen, tuple(drifts.get(name, ()))) for name, seen in observed.all_nodes.items())
    etcd = observed.etcd()
    explained = {node.name for node in nodes if node.problems}
    problems = [*_cluster_problems(observed, explained), *_unexplained(observed, causes, explained)]
    addons = addon_statuses(desired, observed) if cluster.addons or observed.addons else ()
    problems += [one.problem for one in addons if one.problem]
    return ClusterStatus(
        cluster=cluster.name,
        at=observed.at,
        endpoint=cluster.endpoint.url,
        vip=str(cluster.network.vip or ""),
        bootstrapped=None if isinstance(observed.bootstrapped, Unknown) else observed.bootstrapped,
        etcd_leader=_leader(observed.all_nodes),
        etcd_members=len(etcd.members) if etcd else 0,
        etcd_healthy=sum(member.healthy for member in etcd.members) if etcd else 0,
        wanted_talos=str(cluster.talos_version),
        wanted_kubernetes=str(cluster.kubernetes_version),
        nodes=nodes,
        problems=tuple(problems),
        addons=addons,
    )


def _node(desired: Desired, seen: NodeSeen, found: tuple[Drift, ...]) -> NodeStatus:
    wanted = desired.nodes.get(seen.name)
    phase = phase_of(seen)
    kube = seen.kube if isinstance(seen.kube, KubeNodeSeen) else None
    return NodeStatus(
        name=seen.name,
        role=wanted.node.role if wanted else seen.machine.role if isinstance(seen.machine, Machine) else "",
        address=seen.address or (str(wanted.node.ip) if wanted else ""),
        phase=phase,
        talos=seen.talos_version if isinstance(seen.talos_version, str) else "",
        kubernetes=kube.version if kube else "",
        etcd=_etcd(seen),
        config=_config(seen, found) if wanted else "none",
        cordoned_by=kube.cordoned_by if kube else "",
        holds_vip=seen.holds_vip,
        drift=found,
        problems=tuple(dict.fromkeys(_problems(seen, phase, kube))),
    )


def _problems(seen: NodeSeen, phase: Phase, kube: KubeNodeSeen | None) -> Iterator[str]:
    if seen.foreign_reason:
        yield seen.foreign_reason
    elif phase == "off":
        yield "machine is powered off"
    elif isinstance(seen.stage, Unknown):
        yield without_name(seen.stage.why, seen.name)
    else:
        yield from _unwell(seen, phase, kube)
    if kube is not None and kube.cordoned_by not in ("", "other"):  # an administrator's cordon is meant
        yield f"cordoned by {kube.cordoned_by}"


def without_name(text: str, name: str) -> str:
    """An error without the node's own name and address (`cp-1 (10.0.0.2): …`), for places that show them already."""
    return re.sub(rf"(?<!\S){re.escape(name)}( \([^()]*\))?: ", "", text)


def _unwell(seen: NodeSeen, phase: Phase, kube: KubeNodeSeen | None) -> Iterator[str]:
    """Of a node that answers, or that does not exist and has a Node object all the same."""
    unmet = [one for one in unmet_text(seen.unmet).split(", ") if one]
    not_ready = f"{_NODE_NOT_READY} ({kube.reason})" if kube is not None and kube.reason else _NODE_NOT_READY
    if kube is not None and not kube.ready:
        unmet = [*(one for one in unmet if one != _NODE_NOT_READY), not_ready]
    if phase not in _NOT_YET and isinstance(seen.etcd, Unknown):
        unmet.append(f"etcd: {without_name(seen.etcd.why, seen.name)}")
    elif isinstance(seen.etcd, EtcdSeen) and seen.etcd.waiting:
        unmet = [*(one for one in unmet if one != "etcd not running"), "etcd waits for bootstrap, or to join"]
    elif isinstance(seen.etcd, EtcdSeen) and is_learner(seen.etcd):
        unmet.append("etcd member is a learner")
    elif isinstance(seen.etcd, EtcdSeen) and not seen.etcd.healthy:
        unmet.append(f"etcd is not healthy: {'; '.join(seen.etcd.errors) or seen.etcd.state}")
    yield from unmet
    if not unmet and phase in _ON_THE_WAY:
        yield _NODE_NOT_READY


def _cluster_problems(observed: Observed, explained: set[str]) -> Iterator[str]:
    """What no node's own problems explain."""
    etcd = observed.etcd()
    if etcd is None:
        return
    for member in etcd.members:
        if not member.healthy and member.name not in explained:
            yield f"etcd member {member.name} is not healthy, or does not answer"
    if not etcd.agreed:
        yield "control planes disagree about the etcd members"
    yield from (f"etcd alarm: {alarm}" for alarm in etcd.alarms)
    if isinstance(observed.kubernetes, Unknown):
        yield f"Kubernetes API does not answer: {observed.kubernetes.why}"


def _unexplained(observed: Observed, causes: Sequence[RootCause], explained: set[str]) -> Iterator[str]:
    """Root causes that no node's own problems show; what all nodes share is said once, for the cluster."""
    for cause in causes:
        asked = cause.kind == "api-unreachable" and isinstance(observed.kubernetes, Unknown)
        if not asked and (cause.kind in _OF_THE_CLUSTER or not explained & {*cause.nodes}):
            yield cause.cause


def _leader(nodes: Mapping[str, NodeSeen]) -> str:
    """The member that most control planes follow."""
    names: list[str] = []
    for seen in nodes.values():
        if isinstance(seen.etcd, EtcdSeen) and seen.etcd.leader:
            names += [member.name for member in seen.etcd.members if member.id == seen.etcd.leader]
    return max(sorted(set(names)), key=names.count, default="")


def _etcd(seen: NodeSeen) -> EtcdState:
    if isinstance(seen.etcd, Unknown):
        return "unknown"
    if seen.etcd is None:
        return "none"
    if seen.etcd.waiting:
        return "waiting"
    if is_learner(seen.etcd):
        return "learner"
    if not seen.etcd.healthy:
        return "unhealthy"
    return "leader" if seen.etcd.leader == seen.etcd.member_id else "member"


def _config(seen: NodeSeen, found: tuple[Drift, ...]) -> ConfigState:
    if not seen.configured:
        return "none"
    if isinstance(seen.config, Unknown):
        return "unknown"
    kinds = {one.kind for one in found}
    return "pending-reboot" if "pending-reboot" in kinds else "differs" if "config" in kinds else "in-sync"
