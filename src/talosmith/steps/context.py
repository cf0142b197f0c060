"""What every step works with: what should be, the provider, the clients, and the right to change something.

One for a run. Steps tell each other nothing; what one has changed the next one reads from the world.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from talosmith.desired.target import Desired, DesiredNode
from talosmith.kube import KubeClient
from talosmith.model.machines import Machine
from talosmith.observed.world import Observed
from talosmith.providers.base import Provider
from talosmith.talos import MaintenanceClient, TalosClient, TalosNode
from talosmith.talos.address import Address, names_port
from talosmith.tasks import shielded


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
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # whose turn it is to disturb a control plane
    disturbed: str = ""  # the control plane that was disturbed, until the gate has seen it come back
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
        await shielded(self._close())

    async def _close(self) -> None:
        for client in (*([self._kube] if self._kube else ()), *self._kube_at.values()):
            await client.close()

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
            self._kube = KubeClient.from_bundle(self.desired.bundle, addresses)
        return self._kube

    def kube_at(self, name: str) -> KubeClient:
        """The API of one control plane."""
        if name not in self._kube_at:
            host = Address.parse(self.address(name)).host
            self._kube_at[name] = KubeClient.from_bundle(self.desired.bundle, [host])
        return self._kube_at[name]
