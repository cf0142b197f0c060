"""Looking for a cluster's machines on the host: by their metadata, never by their names alone.

Everything here runs in a worker thread, as a part of one `Host.do`.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from talosmith.errors import Permanent
from talosmith.model.machines import CLUSTER_TAG, Machine, Owner
from talosmith.providers.libvirt.connection import Host, found
from talosmith.providers.libvirt.domain import Domain, Link, read
from talosmith.providers.libvirt.storage import listed
from talosmith.providers.libvirt.store import Store

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Machines:
    host: Host
    owner: Owner
    store: Store
    link: Link

    def list(self, connection: Any) -> list[Machine]:
        pool = self.store.pool(connection)
        sizes = {one.path: one.capacity for one in listed(pool)} if pool is not None else {}
        machines = [
            self._machine(domain, described, sizes)
            for domain, described in each(self.host.domains(connection))
            if described.is_of(self.owner)
        ]
        return sorted(machines, key=lambda one: one.name)

    def renamed(self, connection: Any) -> dict[str, tuple[str, ...]]:
        """By cluster name: domains with this cluster's id and another cluster name."""
        found: dict[str, tuple[str, ...]] = {}
        for _, described in each(self.host.domains(connection)):
            if name := self.owner.former_name(described.tags):
                found[name] = (*found.get(name, ()), described.node or described.name)
        return found

    def named(self, connection: Any, node: str) -> Machine | None:
        """The machine of that node. A domain of its name that is not this cluster's is in the way."""
        domain = self.host.domain(connection, self.domain_name(node))
        text = found(lambda: domain.XMLDesc(0)) if domain is not None else None
        if not text:
            return self._renamed(connection, node)
        described = read(text)
        if not described.is_of(self.owner) or described.node != node:
            whose = described.tags.get(CLUSTER_TAG)
            raise Permanent(
                f"the host has a domain {described.name!r} that is not this cluster's, so {node} cannot be made",
                hint=(f"it belongs to another cluster {whose!r}; " if whose else "it was created by another tool; ")
                + f"rename it (`virsh domrename`), or give this cluster another name; it has uuid {described.uuid}",
            )
        return self.measured(connection, domain, described)

    def _renamed(self, connection: Any, node: str) -> Machine | None:
        """Its owner may have given it another name."""
        for domain, described in each(self.host.domains(connection)):
            if described.is_of(self.owner) and described.node == node:
                return self.measured(connection, domain, described)
        return None

    def measured(self, connection: Any, domain: Any, described: Domain) -> Machine:
        volumes = {path: found(lambda path=path: connection.storageVolLookupByPath(path)) for path in described.disks}  # type: ignore[misc]
        sizes = {path: volume.info()[1] for path, volume in volumes.items() if volume is not None}
        return self._machine(domain, described, sizes)

    def ours(self, connection: Any, identity: str) -> Any:
        """libvirt's domain, if it is there and this cluster's."""
        try:
            uuids.UUID(identity)
        except ValueError:
            return None
        domain = self.host.domain_by_id(connection, identity)
        text = found(lambda: domain.XMLDesc(0)) if domain is not None else None
        return domain if text and read(text).is_of(self.owner) else None

    def must_be_ours(self, connection: Any, machine: Machine) -> Any:
        domain = self.ours(connection, machine.id)
        if domain is None:
            raise gone(machine.name)
        return domain

    def described(self, connection: Any, machine: Machine) -> Machine:
        domain = self.must_be_ours(connection, machine)
        return self.measured(connection, domain, read(domain.XMLDesc(0)))

    def _machine(self, domain: Any, described: Domain, sizes: dict[str, int]) -> Machine:
        known = all(path in sizes for path in described.disks)  # not if the pool is off, or a disk was detached
        return Machine(
            id=described.uuid,
            name=described.node,
            role=described.role,
            power="on" if found(domain.isActive) else "off",
            addresses=(described.address,) if described.address else (),
            cpu=described.cpu,
            ram_mib=described.ram_mib,
            disks_mib=tuple(sizes[path] // _MIB for path in described.disks) if known else (),
            seeded=bool(described.seed),
            outdated=f"from {described.link} to {self.link}" if described.link not in (self.link, Link()) else "",
            grows=True,
            tags=described.tags,
        )

    def domain_name(self, node: str) -> str:
        return f"{self.owner.cluster}-{node}"


def each(domains: list[Any]) -> Iterator[tuple[Any, Domain]]:
    """What they are. Some may go while we ask."""
    for domain in domains:
        text = found(lambda domain=domain: domain.XMLDesc(0))  # type: ignore[misc]
        if text:
            yield domain, read(text)


def gone(name: str) -> Permanent:
    return Permanent(f"the machine {name!r} is gone", hint="plan again: the host has changed meanwhile")
