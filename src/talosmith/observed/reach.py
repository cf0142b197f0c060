"""Where each node is reached: the one place that decides.

A provider may know two things of a machine. Its endpoint is where its APIs are reached from here for as long as the
machine exists: a public address, or a port of some host. Where there is one, nothing else is tried: the inventory's
address belongs to a network that this computer need not be in, and another machine may have it here. Its addresses
are its own, as they are now; in maintenance mode that may be a lease. Without an endpoint, a node in maintenance mode
may be at any of them, and a configured node is at the inventory's address, which its machine config has.
"""

from __future__ import annotations

from collections.abc import Mapping

from talosmith.errors import Permanent
from talosmith.model.cluster import Cluster
from talosmith.model.machines import Machine
from talosmith.talos.address import Address


class Reach:
    """By the machines as they are known at the time of asking; the inventory need not have all of them."""

    def __init__(self, cluster: Cluster, machines: Mapping[str, Machine]) -> None:
        self._planned = {node.name: str(node.ip) for node in cluster.nodes}
        self._controlplanes = [node.name for node in cluster.controlplanes]
        self._machines = machines

    def talos(self, name: str) -> str:
        """The Talos API of a configured node, as `host` or `host:port`."""
        known = self._candidates(name)
        if not known:
            raise Permanent(f"{name}: its address is not known", hint="the provider reports none; is its machine on?")
        return known[0]

    def in_maintenance(self, name: str) -> tuple[str, ...]:
        """All candidates, the most likely first for a node that has no machine config yet."""
        machine = self._machines.get(name)
        reported = machine.addresses if machine is not None and not machine.endpoint else ()
        return tuple(dict.fromkeys((*reported, *self._candidates(name))))

    def kubernetes(self, name: str) -> str:
        """The host of a control plane's Kubernetes API: a port of the endpoint is the Talos API's alone."""
        return host_of(self.talos(name))

    @property
    def kubernetes_hosts(self) -> tuple[str, ...]:
        """Of the inventory's control planes, never the VIP."""
        return tuple(map(self.kubernetes, self._controlplanes))

    @property
    def talos_endpoints(self) -> tuple[str, ...]:
        """Of the inventory's control planes: the VIP needs etcd, the Talos API does not."""
        return tuple(map(self.talos, self._controlplanes))

    def _candidates(self, name: str) -> tuple[str, ...]:
        return candidates(self._planned.get(name, ""), self._machines.get(name))


def candidates(planned: str, machine: Machine | None) -> tuple[str, ...]:
    """All that a node's Talos API may be at, configured or not; where a configured node belongs comes first."""
    if machine is not None and machine.endpoint:
        return (machine.endpoint,)
    known = (planned, *(machine.addresses if machine is not None else ()))
    return tuple(dict.fromkeys(address for address in known if address))


def host_of(address: str) -> str:
    return Address.parse(address).host
