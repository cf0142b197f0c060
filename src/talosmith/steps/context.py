"""What every step works with: what should be, the provider, the clients, and the right to change something.

One for a run. Steps tell each other nothing; what one has changed the next one reads from the world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio

from talosmith.desired.target import Desired, DesiredNode
from talosmith.kube import Credentials as KubeCredentials
from talosmith.kube import KubeClient
from talosmith.model.machines import Machine
from talosmith.observed.world import Observed
from talosmith.providers.base import Provider
from talosmith.talos import Credentials as TalosCredentials
from talosmith.talos import MaintenanceClient, TalosClient, TalosNode
from talosmith.talos.address import Address, names_port


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the user has said about a run. Files are written into `folder`."""

    folder: Path
    trust_first_use: bool = False


@dataclass(slots=True, kw_only=True)
class Context:
    desired: Desired
    provider: Provider
    talos: TalosClient
    maintenance: MaintenanceClient
    options: RunOptions
    may_write: Callable[[], None] = lambda: None  # raises if somebody else has taken over
    told: Callable[[str], None] = lambda text: None
    stop_wanted: Callable[[], bool] = lambda: False  # asked to stop at a safe point
    machines: dict[str, Machine] = field(default_factory=dict)
    turn: anyio.Lock = field(default_factory=anyio.Lock)  # whose turn it is to disturb a control plane
    disturbed: str = ""  # the control plane that was disturbed, until the gate has seen it come back
    _kube_credentials: KubeCredentials | None = None
    _kube: KubeClient | None = None
    _kube_at: dict[str, KubeClient] = field(default_factory=dict)

    def know(self, observed: Observed) -> None:
        """The machines as they were last seen."""
        for name, seen in observed.everybody.items():
            if isinstance(seen.machine, Machine):
                self.machines[name] = seen.machine

    async def __aenter__(self) -> Self:
        self.kube()  # what it takes to make one is better done now than when everybody waits for it
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            for client in self._kube_clients:
                await client.close()

    async def exchange(self, talos: TalosCredentials, kube: KubeCredentials) -> None:
        """Use these credentials for whatever is asked from now on, by whichever step; calls that run are finished.

        For steps that rotate a CA or the client certificates. Nodes and clients that a step holds use them, too.
        """
        self.talos.exchange(talos)
        self._kube_credentials = kube
        for client in self._kube_clients:
            await client.exchange(kube)

    @property
    def _kube_clients(self) -> list[KubeClient]:
        return [*([self._kube] if self._kube else ()), *self._kube_at.values()]

    def _kube_client(self, addresses: list[str]) -> KubeClient:
        if self._kube_credentials is None:
            self._kube_credentials = KubeCredentials.from_bundle(self.desired.bundle)
        return KubeClient(addresses, self._kube_credentials)

    async def machine_now(self, name: str) -> Machine:
        """As the provider has it now: what is done to a machine changes what is known of it."""
        known = self.machines[name]
        for found in await self.provider.find():
            if found.id == known.id:
                self.machines[name] = found
        return self.machines[name]

    @property
    def all_controlplanes(self) -> list[str]:
        """Those of the inventory, and those that it no longer has and that still exist."""
        ours = [node.name for node in self.desired.controlplanes]
        former = [
            name
            for name, machine in self.machines.items()
            if machine.role == "controlplane" and name not in self.desired.nodes
        ]
        return ours + former

    # Ways to nodes

    def node(self, name: str) -> DesiredNode:
        return self.desired.nodes[name]

    def configured(self, name: str) -> TalosNode:
        """The node with its config: at its own address, or where the provider says it is."""
        return self.talos.node(self.address(name), name)

    def address(self, name: str) -> str:
        machine = self.machines.get(name)
        if machine is not None and machine.addresses and names_port(machine.addresses[0]):
            return machine.addresses[0]
        if name in self.desired.nodes:
            return str(self.desired.nodes[name].node.ip)
        if machine is not None and machine.addresses:
            return machine.addresses[0]
        raise KeyError(name)

    def waiting_places(self, name: str) -> tuple[str, ...]:
        """Where a node without a config may answer."""
        machine = self.machines.get(name)
        return tuple(dict.fromkeys([*(machine.addresses if machine else ()), self.address(name)]))

    def fingerprint(self, name: str) -> str:
        machine = self.machines.get(name)
        known = machine.fingerprint if machine is not None else ""
        return known or self.desired.nodes[name].machine.fingerprint

    def kube(self) -> KubeClient:
        """By the control planes themselves, never by the VIP."""
        if self._kube is None:
            addresses = [str(node.node.ip) for node in self.desired.controlplanes]
            self._kube = self._kube_client(addresses)
        return self._kube

    def kube_at(self, name: str) -> KubeClient:
        """The API of one control plane."""
        if name not in self._kube_at:
            host = Address.parse(self.address(name)).host
            self._kube_at[name] = self._kube_client([host])
        return self._kube_at[name]
