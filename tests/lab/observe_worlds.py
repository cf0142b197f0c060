"""A cluster in a lab of this process, as an inventory describes it, and what it takes to observe it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from talosmith.desired.target import Desired
from talosmith.errors import Temporary
from talosmith.inventory import check
from talosmith.kube import KubeClient
from talosmith.model.machines import Machine, MachineSpec
from talosmith.model.secret import Secret
from talosmith.observed.observe import observe
from talosmith.observed.world import Observed
from talosmith.providers.base import NO_HOST_CALLS, Finding, HostCalls
from talosmith.talos import MaintenanceClient, TalosClient
from talosmith_lab.server.control import Control
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.lab_servers import at_rest
from tests.lab.lab_worlds import quick_bundle

PATIENCE = 120.0  # seconds: for what comes soon, but not on a busy machine
INVENTORY = """\
cluster_name: {name}
talos_version: v1.14.1
kubernetes_version: v1.37.1
lab: {{}}
network: {{node_cidr: {network}}}
controlplane: {controlplanes}
workers: {workers}
{more}
"""


@dataclass
class LabMachines:
    """The machines of a lab, each tagged with its own name: as much of a provider as observing needs."""

    control: Control
    desired: Desired
    name: str = "lab"
    seeds: bool = False
    creates: bool = True
    simulated: bool = True
    host_calls: HostCalls = field(default_factory=lambda: NO_HOST_CALLS)
    broken: Temporary | None = None

    async def find(self) -> list[Machine]:
        if self.broken is not None:
            raise self.broken
        return [self._machine(one) for one in self.control.list_machines()]

    def _machine(self, one: dict[str, Any]) -> Machine:
        wanted = self.desired.nodes.get(one["name"])
        role = wanted.node.role if wanted else "controlplane" if one["name"].startswith("cp") else "worker"
        return Machine(
            id=one["name"],
            name=one["name"],
            role=role,
            power=one["power"],
            addresses=(one["address"],),
            tags=self.desired.owner.tags(one["name"], role),
        )

    async def preflight(self, specs: Iterable[MachineSpec]) -> list[Finding]:
        raise NotImplementedError

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        raise NotImplementedError

    async def destroy(self, machine: Machine) -> None:
        raise NotImplementedError

    async def power(self, machine: Machine, on: bool) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        """There is nothing to let go of."""


@dataclass
class LabWorld:
    server: LabServer
    desired: Desired
    provider: LabMachines
    talos: TalosClient
    maintenance: MaintenanceClient

    @property
    def control(self) -> Control:
        return self.server.control

    def kube(self, addresses: list[str]) -> KubeClient:
        return KubeClient.from_bundle(self.desired.bundle, addresses)

    async def look(self, desired: Desired | None = None) -> Observed:
        return await observe(desired or self.desired, self.provider, self.talos, self.maintenance, kube=self.kube)

    def create(self, *names: str) -> None:
        for name in names:
            node = self.desired.nodes[name].node
            self.control.create(name, address=str(node.ip), mac=node.mac)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await asyncio.sleep(0.02)

    async def rest(self) -> None:
        """Until nothing more happens by itself: stages are as they stay, and whoever is to answer does."""
        await self.until(lambda: at_rest(self.server))

    def stages(self) -> set[str]:
        return {one["stage"] for one in self.control.list_machines()}

    async def configure(self, *names: str) -> None:
        await self.until(lambda: all(self.control.list_machines(name)[0]["stage"] == "maintenance" for name in names))
        for name in names:
            node = self.desired.nodes[name]
            waiting = self.maintenance.node(str(node.node.ip), name)
            await self.patiently(partial(waiting.apply_config, node.config))

    async def bootstrap(self, name: str) -> None:
        await self.patiently(self.talos.node(str(self.desired.nodes[name].node.ip), name).bootstrap)

    async def patiently(self, act: Callable[[], Awaitable[Any]]) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await act()
                except Temporary:
                    await asyncio.sleep(0.02)
                else:
                    return

    async def come_up(self) -> None:
        """All machines of the inventory, healthy."""
        self.create(*self.desired.nodes)
        await self.configure(*self.desired.nodes)
        first, *_ = (node.name for node in self.desired.controlplanes)
        await self.bootstrap(first)
        await self.until(lambda: at_rest(self.server) and self.is_ready() and self.has_all_voters())

    def is_ready(self) -> bool:
        return all(one["ready"] for one in self.control.list_machines())

    def has_all_voters(self) -> bool:
        clusters = self.control.status()["etcd"]
        voters = [state for state in clusters[0]["members"].values() if state == "voter"] if clusters else []
        return len(voters) == len(list(self.desired.controlplanes))


def desired_of(
    folder: Path, network: str, controlplanes: int, workers: int, more: str = "", name: str = ""
) -> Desired:
    folder.mkdir(parents=True, exist_ok=True)
    text = INVENTORY.format(
        name=name or "observed", network=network, controlplanes=controlplanes, workers=workers, more=more
    )
    (folder / "cluster.yaml").write_text(text, encoding="utf-8")
    return Desired(check(folder, None).cluster, quick_bundle())


@asynccontextmanager
async def lab_world(
    folder: Path, network: str, controlplanes: int = 3, workers: int = 2, more: str = ""
) -> AsyncIterator[LabWorld]:
    desired = desired_of(folder / "inventory", network, controlplanes, workers, more)
    (folder / "lab").mkdir()
    async with (
        LabServer(folder / "lab", LabOptions(clock="instant", network=network)) as server,
        TalosClient.from_bundle(desired.bundle) as talos,
        MaintenanceClient() as maintenance,
    ):
        yield LabWorld(server, desired, LabMachines(server.control, desired), talos, maintenance)
