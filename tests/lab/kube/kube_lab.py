"""A lab whose control planes answer the Kubernetes API, in the test's own process."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from talosmith.kube import KubeClient, Limits
from talosmith.providers.lab.process import PaceName
from talosmith_lab import configure, joining
from talosmith_lab.server.api.config import admin_kubeconfig
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.lab_worlds import Configs

PATIENCE = 240.0  # seconds; costs nothing where all is well
FEW_TRIES = Limits(connect_timeout=60.0, call_timeout=60.0, total=PATIENCE, attempts=2)


class KubeLab:
    def __init__(self, server: LabServer, configs: Configs, network: str) -> None:
        self.server = server
        self.configs = configs
        self.network = ipaddress.ip_network(network)

    def address(self, number: int) -> str:
        """Of `cp-1`, `cp-2` …"""
        return str(self.network[10 + number])

    async def bring_up(self, *names: str) -> None:
        """Machines that become a cluster."""
        for number, name in enumerate(names, 1):
            self.server.control.create(name, address=self.address(number))
        world = self.server.world
        await self.until(lambda: all(world.machines[name].runs("apid") for name in names))
        for name in names:
            role = "controlplane" if name.startswith("cp") else "worker"
            configure.apply(world, world.machines[name], self.configs.text(role, name), "AUTO")
        self.server.engine.commit()
        first = world.machines[names[0]]
        await self.until(lambda: first.service("etcd") is not None and first.service("etcd").state == "Preparing")
        joining.bootstrap(world, first)
        self.server.engine.commit()
        planes = [world.machines[name] for name in names if name.startswith("cp")]
        await self.until(lambda: all(plane.run is not None and plane.run.static_pods for plane in planes))

    async def until(self, done: Callable[[], object]) -> None:
        end = asyncio.get_running_loop().time() + PATIENCE
        while not done():
            assert asyncio.get_running_loop().time() < end, "the lab does not get there"
            await asyncio.sleep(0.01)

    def client(self, *numbers: int) -> KubeClient:
        return KubeClient.from_bundle(
            self.configs.bundle, [self.address(number) for number in numbers or (1,)], limits=FEW_TRIES
        )

    def kubeconfig(self, number: int = 1) -> str:
        world = self.server.world
        machine = next(one for one in world.machines.values() if one.address == self.address(number))
        config = world.config(machine)
        assert config is not None
        return admin_kubeconfig(config, world.now()).decode()


@asynccontextmanager
async def running(
    folder: Path, configs: Configs, network: str, *names: str, clock: PaceName = "instant"
) -> AsyncIterator[KubeLab]:
    async with LabServer(folder, LabOptions(clock=clock, network=network)) as server:
        lab = KubeLab(server, configs, network)
        await lab.bring_up(*names)
        yield lab
