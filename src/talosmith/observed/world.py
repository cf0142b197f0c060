"""What was found, as plain data: machines, nodes, etcd, Kubernetes.

What could not be found out is `Unknown`, with the reason; nothing destructive is ever planned on that. A thing that
is known not to be there is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from talosmith.model.machines import Machine
from talosmith.model.resources import Difference, Resource, ResourceKey, ResourceSpec, SettingChange
from talosmith.model.secret import Secret
from talosmith.plan.gate import EtcdView, Member


@dataclass(frozen=True, slots=True)
class Unknown:
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdMemberSeen:
    """A member as others list it; `name` is empty until it has started once."""

    id: int
    name: str
    learner: bool
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdSeen:
    """etcd as one control plane has it.

    `waiting`: its data directory is empty, and it waits for a bootstrap or to join; `members` is empty while it does.
    """

    state: str  # of the service: Preparing, Running, Failed, …
    healthy: bool = False  # runs, follows a leader, and reports no errors
    waiting: bool = False
    member_id: int = 0
    leader: int = 0
    members: tuple[EtcdMemberSeen, ...] = ()
    alarms: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def etcd_view(seen: Iterable[EtcdSeen]) -> EtcdView | None:
    """etcd as a whole, as the control planes that answered list it; None where none has a member list."""
    asked = [one for one in seen if one.members]
    if not asked:
        return None
    lists = {frozenset((member.id, member.learner) for member in one.members) for one in asked}
    members = {member.id: member for one in asked for member in one.members}
    healthy = {one.member_id for one in asked if one.healthy}
    return EtcdView(
        tuple(
            Member(member.name or f"{member.id:x}", member.id in healthy, member.learner)
            for member in sorted(members.values(), key=lambda one: (one.name, one.id))
        ),
        agreed=len(lists) == 1,
        alarms=tuple(sorted({alarm for one in asked for alarm in one.alarms})),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeNodeSeen:
    """A node as Kubernetes has it. `reason`: why it is not Ready."""

    name: str
    ready: bool
    version: str
    cordoned_by: str = ""  # talosmith, Talos or other; empty: schedulable
    reason: str = ""
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """One node of the inventory, or a machine of ours that the inventory no longer has.

    `stage` is Talos' own word (maintenance, booting, installing, running, …), None if there is no machine or it is
    off, `Unknown` if nothing answers. `foreign_reason`: why what answers is not this node: a node of another cluster,
    or another node at its address.
    """

    name: str
    machine: Machine | Unknown | None
    address: str = ""  # where it answered
    stage: str | Unknown | None = None
    foreign_reason: str = ""
    fingerprint: str = ""  # seen in maintenance mode
    ready: bool = False
    unmet: tuple[str, ...] = ()
    talos_version: str | Unknown = ""
    boot_id: str = ""
    config: Secret | Unknown | None = None  # the one it would boot with
    config_digest: str = ""
    pending_reboot: bool = False  # it runs with another config than the one it would boot with
    etcd: EtcdSeen | Unknown | None = None  # None: a worker, or it has no config yet
    kube: KubeNodeSeen | Unknown | None = None
    holds_vip: bool = False  # the VIP is among its addresses

    @property
    def unfinished(self) -> bool:
        """The machine's creation was cut off, or is under way."""
        return isinstance(self.machine, Machine) and self.machine.unfinished

    @property
    def to_be_created(self) -> bool:
        """There is no machine, or none that is finished."""
        return self.machine is None or self.unfinished

    @property
    def configured(self) -> bool:
        return isinstance(self.stage, str) and self.stage != "maintenance"

    @property
    def is_controlplane(self) -> bool:
        """Its machine was made to be a control plane."""
        return isinstance(self.machine, Machine) and self.machine.role == "controlplane"

    @property
    def places(self) -> tuple[str, ...]:
        """Where the provider says its machine is."""
        return self.machine.addresses if isinstance(self.machine, Machine) else ()

    def is_elsewhere(self, address: str) -> bool:
        """It has its config, and answers at another address only. At an endpoint of its provider it has to."""
        has_endpoint = isinstance(self.machine, Machine) and self.machine.endpoint
        return self.configured and self.address not in ("", address) and not has_endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSeen:
    """At least one of both: what the inventory wants, and what exists."""

    key: ResourceKey
    wanted: ResourceSpec | None = None
    found: Resource | None = None
    difference: Difference = field(default_factory=Difference)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesSeen:
    each: tuple[ResourceSeen, ...] = ()
    machine_needs: Mapping[str, tuple[ResourceKey, ...]] = field(default_factory=dict)  # by node of the inventory
    foreign: tuple[str, ...] = ()  # in the cluster's network, and not the cluster's; looked for before all is deleted

    @property
    def found(self) -> dict[ResourceKey, Resource]:
        return {one.key: one.found for one in self.each if one.found is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChange:
    """What an apply would do to one object of an add-on. `settings` are its changed fields, secrets masked."""

    ref: str  # `Deployment kube-system/coredns`
    outcome: Literal["created", "changed", "pruned", "kept", "refused"]
    settings: tuple[SettingChange, ...] = ()
    note: str = ""  # why it is kept, or why the server refuses it
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonSeen:
    """An add-on as the cluster has it, compared with the inventory."""

    name: str
    installed: bool = False  # the cluster has a record of it
    version: str = ""  # of the chart that was applied
    crds: tuple[ObjectChange, ...] = ()
    objects: tuple[ObjectChange, ...] = ()  # changes only; of the namespace, too
    config: tuple[ObjectChange, ...] = ()
    unready: tuple[str, ...] = ()  # workloads that are not ready, with the reason
    manager: str = ""  # Flux, Argo CD or Helm, which manages it now
    downgrades: tuple[str, ...] = ()  # CRDs whose live version is newer

    @property
    def changes(self) -> tuple[ObjectChange, ...]:
        return (*self.crds, *self.objects, *self.config)

    @property
    def left_alone(self) -> tuple[ObjectChange, ...]:
        """Objects that differ, or are no longer wanted, and stay as they are."""
        return tuple(one for one in self.changes if one.outcome == "kept")

    @property
    def in_sync(self) -> bool:
        """Of an add-on that another tool manages: it is as the inventory has it, though the tool keeps it so."""
        return not any(self.manager or one.outcome != "kept" for one in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonsSeen:
    each: Mapping[str, AddonSeen] = field(default_factory=dict)  # of the inventory, in its order
    not_in_inventory: Mapping[str, AddonSeen] = field(default_factory=dict)  # all of their objects are to be pruned


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    at: float
    nodes: Mapping[str, NodeSeen]  # of the inventory, in its order
    not_in_inventory: Mapping[str, NodeSeen] = field(
        default_factory=dict
    )  # machines and members that it no longer has
    kubernetes: Mapping[str, KubeNodeSeen] | Unknown | None = None  # None: there is no cluster yet
    resources: ResourcesSeen | Unknown | None = None  # None: the provider has none
    addons: AddonsSeen | Unknown | None = None  # None: not looked at, or there is no cluster yet

    @property
    def all_nodes(self) -> dict[str, NodeSeen]:
        return {**self.nodes, **self.not_in_inventory}

    @property
    def machines(self) -> dict[str, Machine]:
        return {name: seen.machine for name, seen in self.all_nodes.items() if isinstance(seen.machine, Machine)}

    def etcd(self) -> EtcdView | None:
        """What all control planes together say; None where no control plane has a member list."""
        return etcd_view(one.etcd for one in self.all_nodes.values() if isinstance(one.etcd, EtcdSeen))

    @property
    def bootstrapped(self) -> bool | Unknown:
        """Whether etcd exists anywhere. Only if every control plane that could have it has said no, it does not."""
        seen = self.all_nodes.values()
        if any(isinstance(one.etcd, EtcdSeen) and not one.etcd.waiting for one in seen):
            return True
        silent = [one.name for one in seen if isinstance(one.etcd, Unknown)]
        return Unknown(f"{', '.join(silent)} did not say") if silent else False
