"""The lab's world: all machines, the etcd clusters among them, faults, and what is going to happen next.

Nothing here waits or sends anything. Code that changes something calls `touch`, and `settle` lets everything that
follows from it happen; what takes time goes on the timeline.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from talosmith.providers.lab.faults import US, FaultKind
from talosmith.providers.lab.process import PaceName
from talosmith.providers.lab.refusals import NoSuchMachine
from talosmith_lab.clock import Key, Now, Pace, Timeline, Wait, drawn
from talosmith_lab.etcd import Cluster
from talosmith_lab.faults import Fault, strikes
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import NodeConfig, digest_of, read
from talosmith_lab.records import EVENTS, KERNEL, Record, event_id

if TYPE_CHECKING:
    from talosmith_lab.kube.cluster import Kubernetes


class World:
    def __init__(self, *, seed: int = 0, pace: PaceName = "instant", now: Now, subnet: str = "127.77.0.0/16") -> None:
        self.seed = seed
        self.pace = Pace(pace, seed)
        self.now = now
        self.subnet = ipaddress.ip_network(subnet)
        self.machines: dict[str, Machine] = {}
        self.clusters: dict[str, Cluster] = {}
        self.kubernetes: dict[
            str, Kubernetes
        ] = {}  # by etcd cluster; made when first asked for, from what etcd holds
        self.networked: set[str] = set()  # machines with a CNI that Talos has not brought
        self.vip_holders: dict[str, str] = {}  # by cluster id and address
        self.api_up: dict[str, bool] = {}  # the Kubernetes API, by cluster id
        self.faults: dict[str, Fault] = {}
        self.texts: dict[str, str] = {}  # configs by digest
        self.blobs: dict[str, bytes] = {}  # uploaded snapshots by digest
        self.counter = 0
        self.timeline = Timeline()
        self.due: float | None = None  # when that was due which happens now
        self.records: list[Record] = []  # since they were last taken
        self.changed: set[str] = set()  # machines, since the last look
        self.changed_clusters: set[str] = set()
        self.unsettled: dict[str, None] = {}
        self.unsettled_clusters: dict[str, None] = {}
        self.plays_kubernetes = True  # its controllers and kubelets; not where a real one runs
        self.machines_seen: dict[str, None] = {}  # that have changed since Kubernetes last looked
        self.unsettled_groups: dict[str, None] = {}  # by cluster id of the machine configs
        self.unsettled_kubernetes: dict[str, None] = {}  # by etcd cluster
        self._groups: dict[str, list[Machine]] | None = None

    # Machines and their configs

    def machine(self, name: str) -> Machine:
        if name not in self.machines:
            raise NoSuchMachine(f"there is no machine {name!r} in this lab", hint="see `talosmith lab machine list`")
        return self.machines[name]

    def keep_text(self, text: str) -> str:
        digest = digest_of(text)
        self.texts[digest] = text
        return digest

    def config(self, machine: Machine) -> NodeConfig | None:
        """The config in use, if it is a whole one."""
        if machine.run is None or not machine.run.config:
            return None
        found = read(self.texts[machine.run.config])
        return found if found.complete else None

    def group(self, cluster_id: str) -> list[Machine]:
        """The machines that run with configs of one cluster, control planes first."""
        if self._groups is None:
            self._groups = {}
            for machine in self.machines.values():
                config = self.config(machine)
                if config is not None:
                    self._groups.setdefault(config.cluster_id, []).append(machine)
            for group in self._groups.values():
                group.sort(key=lambda one: not self._leads(one))
        return self._groups.get(cluster_id, [])

    def control_planes(self, cluster_id: str) -> Iterator[Machine]:
        return takewhile(self._leads, self.group(cluster_id))

    def _leads(self, machine: Machine) -> bool:
        config = self.config(machine)
        return config is not None and config.is_controlplane

    def etcd_of(self, machine: Machine) -> Cluster | None:
        if machine.system is None or machine.system.etcd is None:
            return None
        return self.clusters.get(machine.system.etcd.cluster)

    # Who reaches whom

    def active(self, kind: FaultKind, machine: str) -> Fault | None:
        if not self.faults:  # as nearly always, and this is asked all the time
            return None
        return next((one for one in self.faults.values() if one.kind == kind and one.is_for(machine)), None)

    def strike(self, kind: FaultKind, machine: str, method: str = "") -> Fault | None:
        """The fault that strikes now, if one does."""
        for fault in list(self.faults.values()):
            if fault.kind == kind and fault.is_for(machine) and fault.matches(method) and strikes(fault, self.seed):
                if fault.times == 0:
                    del self.faults[fault.id]
                return fault
        return None

    def connected(self, machine: Machine) -> bool:
        """Whether its network works at all."""
        return machine.on and not self.active("hang", machine.name) and not self.active("lost-network", machine.name)

    def talk(self, one: str, other: str) -> bool:
        if one == other:
            return True
        for name in (one, other):
            if name != US and not (name in self.machines and self.connected(self.machines[name])):
                return False
        return not any(fault.kind == "partition" and fault.parts(one, other) for fault in self.faults.values())

    def runs(self, machine: str, cluster: str) -> bool:
        """Whether the machine's etcd runs with data of this cluster; for `etcd.Links`."""
        found = self.machines.get(machine)
        if found is None or not found.runs("etcd") or self.active("hang", machine):
            return False
        etcd = found.system.etcd if found.system else None
        return etcd is not None and etcd.cluster == cluster

    # What has changed and what follows

    def touch(self, machine: Machine, *, config: bool = False) -> None:
        """Something about the machine is different; `config` if it is the config it runs with, or if it runs."""
        machine.revision += 1
        if config:
            machine.config_revision = machine.revision
            self._groups = None
        self.changed.add(machine.name)
        self.machines_seen[machine.name] = None
        self.unsettled[machine.name] = None
        found = self.config(machine)
        if found is not None and found.is_controlplane:
            self.unsettled_groups[found.cluster_id] = None

    def touch_cluster(self, uid: str) -> None:
        if uid in self.clusters:
            self.changed_clusters.add(uid)
            self.unsettled_clusters[uid] = None

    def after(self, subject: str, what: str, wait: Wait, *of: object) -> None:
        """Let `what` happen to the subject once the wait is over, unless that is already planned."""
        self.timeline.ensure(Key(subject, what), self.later(self.pace.duration(wait, subject, *of)))

    def later(self, seconds: float) -> float:
        """When they are over, counted from when that was due which happens now: being late does not make all late.

        What takes no time comes after whatever is under way, so that machines that do the same do it together.
        """
        return (self.now() if self.due is None or not seconds else self.due) + seconds

    def pulled(self, machine: Machine, *images: str) -> None:
        """Images that the machine has from now on."""
        if machine.run is not None:
            machine.run.images = list(dict.fromkeys([*machine.run.images, *filter(None, images)]))

    # What is told

    def log(self, machine: Machine, source: str, text: str) -> None:
        self.records.append(Record(machine.name, machine.boots, source, self.clock_of(machine), text))

    def kernel(self, machine: Machine, text: str) -> None:
        self.log(machine, KERNEL, text)

    def event(self, machine: Machine, kind: str, payload: dict[str, Any], actor: str = "") -> None:
        self.counter += 1
        number = event_id(self.now(), machine.name, self.counter)
        self.records.append(
            Record(machine.name, machine.boots, EVENTS, self.clock_of(machine), "", number, actor, kind, payload)
        )

    def clock_of(self, machine: Machine) -> float:
        """What the machine takes for the time."""
        skew = self.active("clock-skew", machine.name)
        return self.now() + (skew.seconds if skew else 0.0)

    def unique(self, *parts: object) -> str:
        """A number in the form of a UUID that nothing else in this lab has."""
        self.counter += 1
        digits = drawn(self.seed, self.counter, *parts).hex()
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
