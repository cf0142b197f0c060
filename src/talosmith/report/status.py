"""What was found, as a table: a line for each node, with what Talos, etcd and Kubernetes say of it."""

from __future__ import annotations

from typing import Any

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import EtcdSeen, KubeNodeSeen, NodeSeen, Observed, Unknown
from talosmith.report.style import Style
from talosmith.report.table import table

_HEADER = ("NODE", "ROLE", "ADDRESS", "MACHINE", "STAGE", "TALOS", "ETCD", "KUBERNETES", "CONFIG", "REMARK")


def as_data(desired: Desired, observed: Observed) -> list[dict[str, Any]]:
    return [
        {
            "node": seen.name,
            "role": _role(desired, seen),
            "address": seen.address,
            "machine": _machine(seen),
            "stage": seen.stage.why if isinstance(seen.stage, Unknown) else seen.stage or "",
            "ready": seen.ready,
            "talos": seen.talos_version if isinstance(seen.talos_version, str) else "",
            "etcd": _etcd(seen),
            "kubernetes": _kubernetes(seen),
            "config": _config(desired, seen),
            "remark": _remark(desired, seen),
        }
        for seen in observed.everybody.values()
    ]


def as_text(desired: Desired, observed: Observed, style: Style) -> str:
    rows = []
    for one, seen in zip(as_data(desired, observed), observed.everybody.values(), strict=True):
        stage = "no answer" if isinstance(seen.stage, Unknown) else one["stage"]
        rows.append(
            (
                one["node"], one["role"], one["address"], one["machine"], stage, one["talos"], one["etcd"],
                one["kubernetes"], one["config"], one["remark"],
            )
        )  # fmt: skip
    return "\n".join(table(_HEADER, rows, style))


def _role(desired: Desired, seen: NodeSeen) -> str:
    if seen.name in desired.nodes:
        return desired.nodes[seen.name].node.role
    return seen.machine.role if isinstance(seen.machine, Machine) else ""


def _machine(seen: NodeSeen) -> str:
    if isinstance(seen.machine, Unknown):
        return "unknown"
    return "none" if seen.machine is None else seen.machine.power


def _etcd(seen: NodeSeen) -> str:
    if isinstance(seen.etcd, Unknown):
        return "unknown"
    if not isinstance(seen.etcd, EtcdSeen):
        return ""
    if seen.etcd.waiting:
        return "waiting"
    if not seen.etcd.healthy:
        return "unhealthy"
    learner = any(member.id == seen.etcd.member_id and member.learner for member in seen.etcd.members)
    return "leader" if seen.etcd.leader == seen.etcd.member_id else "learner" if learner else "member"


def _kubernetes(seen: NodeSeen) -> str:
    if isinstance(seen.kube, KubeNodeSeen):
        state = "Ready" if seen.kube.ready else "NotReady"
        return f"{state} {seen.kube.version}" + (", cordoned" if seen.kube.cordoned_by else "")
    return "unknown" if isinstance(seen.kube, Unknown) else ""


def _config(desired: Desired, seen: NodeSeen) -> str:
    if not seen.configured or seen.name not in desired.nodes:
        return ""
    if isinstance(seen.config, Unknown):
        return "unknown"
    if seen.pending_reboot:
        return "waits for a reboot"
    return "as it should be" if seen.config_digest == desired.nodes[seen.name].digest else "differs"


def _remark(desired: Desired, seen: NodeSeen) -> str:
    if seen.stranger:
        return seen.stranger
    if isinstance(seen.stage, Unknown):
        return seen.stage.why
    if seen.name not in desired.nodes:
        return "not in the inventory"
    wanted = str(desired.nodes[seen.name].node.ip)
    elsewhere = [f"the inventory says {wanted}"] if seen.is_elsewhere(wanted) else []
    return "; ".join([*elsewhere, *seen.unmet])
