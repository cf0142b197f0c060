"""What every step works with: what should be, the provider, the clients, and the right to change something.

One for a run. Steps tell each other nothing; what one has changed the next one reads from the world.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from talosmith.desired.target import Desired, DesiredNode
from talosmith.model.machines import Machine
from talosmith.model.resources import Resource, ResourceKey
from talosmith.observed.machines import machines_by_name
from talosmith.observed.reach import Reach
from talosmith.observed.world import Observed, ResourcesSeen
from talosmith.providers.base import Provider
from talosmith.talos import Credentials as TalosCredentials
from talosmith.talos import MaintenanceClient, TalosClient, TalosNode
from talosmith.tasks import shielded

if TYPE_CHECKING:
    from talosmith.kube import Credentials as KubeCredentials
    from talosmith.kube import KubeClient


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
    check_lock: Callable[[], None] = lambda: None  # raises if another run has taken over the lock
    note: Callable[[str], None] = lambda text: None
    stop_wanted: Callable[[], bool] = lambda: False  # asked to stop at a safe point
    machines: dict[str, Machine] = field(default_factory=dict)
    resources: dict[ResourceKey, Resource] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # whose turn it is to disturb a control plane
    disturbed: str = ""  # the control plane that was disturbed, until the gate has seen it come back
    reach: Reach = field(init=False)
    _kube_credentials: KubeCredentials | None = None
    _kube: dict[tuple[str, ...], KubeClient] = field(default_factory=dict)  # by the hosts of control planes

    def __post_init__(self) -> None:
        self.reach = Reach(self.desired.cluster, self.machines)

    def remember_machines(self, observed: Observed) -> None:
        """The machines and resources as they were last seen."""
        self.machines.update(observed.machines)
        if isinstance(observed.resources, ResourcesSeen):
            self.resources.update(observed.resources.found)

    async def __aenter__(self) -> Self:
        self.kube()  # its set-up is better done now than when every step waits for it
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await shielded(self._close())

    async def _close(self) -> None:
        for client in self._kube.values():
            await client.close()

    async def exchange(self, talos: TalosCredentials, kube: KubeCredentials) -> None:
        """Use these credentials for whatever is asked from now on, by whichever step; calls that run are finished.

        For steps that rotate a CA or the client certificates. Nodes and clients that a step holds use them, too.
        """
        self.talos.exchange(talos)
        self._kube_credentials = kube
        for client in [*self._kube.values()]:  # another step may add one meanwhile, with these
            await client.exchange(kube)

    async def machines_now(self) -> dict[str, Machine] | None:
        """All machines as the provider has them now; None where it cannot say."""
        return await machines_by_name(self.provider)

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
        return self.talos.node(self.reach.talos(name), name)

    def fingerprint(self, name: str) -> str:
        machine = self.machines.get(name)
        known = machine.fingerprint if machine is not None else ""
        return known or self.desired.nodes[name].machine.fingerprint

    def kube(self) -> KubeClient:
        """By the control planes themselves, never by the VIP."""
        return self._kube_by(self.reach.kubernetes_hosts)

    def kube_at(self, name: str) -> KubeClient:
        """The API of one control plane."""
        return self._kube_by((self.reach.kubernetes(name),))

    def _kube_by(self, hosts: tuple[str, ...]) -> KubeClient:
        """A new client where machines that were created meanwhile have other hosts than planned."""
        from talosmith.kube import Credentials, KubeClient

        if hosts not in self._kube:
            if self._kube_credentials is None:
                self._kube_credentials = Credentials.from_bundle(self.desired.bundle)
            self._kube[hosts] = KubeClient(list(hosts), self._kube_credentials)
        return self._kube[hosts]
