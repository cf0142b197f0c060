"""A lab that runs: the world, its nodes on the network, and the way in. In one process, or inside a test."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from talosmith.providers.lab.process import KubernetesName, PaceName
from talosmith_lab import store
from talosmith_lab.server.api import DECLARED
from talosmith_lab.server.control import Control
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.kube.serving import KubeServers
from talosmith_lab.server.listeners import Listeners
from talosmith_lab.world import World

if TYPE_CHECKING:
    from talosmith_lab.server.real_kubernetes.fleet import Fleet

_ANSWERS = DECLARED  # imported for what it declares


@dataclass(frozen=True, slots=True, kw_only=True)
class LabOptions:
    """What a lab is created with; an existing lab keeps its settings."""

    clock: PaceName = "fast"
    seed: int = 0
    network: str = "127.77.0.0/16"
    ports: bool = False  # all machines at 127.0.0.1, each with a port of its own
    kubernetes: KubernetesName = "simulated"
    binaries: str = ""  # folders of the real Kubernetes' programs, as in PATH; they come before it
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)


class LabServer:
    """`async with LabServer(folder) as lab:` — then `lab.control.create("cp-1")` and so on."""

    def __init__(self, folder: Path, options: LabOptions | None = None) -> None:
        self.folder = folder
        self.options = options or LabOptions()
        self.address: tuple[str, int] = ("", 0)

    async def start(self) -> None:
        path = self.folder / "world.db"
        self._store = store.Store(path)
        if self._store.exists():
            world = self._store.load(time.time)
        else:
            self._store.close()
            self._store, world = store.create(
                path, seed=self.options.seed, pace=self.options.clock, subnet=self.options.network, now=time.time
            )
        self.engine = Engine(world, self._store)
        self._real: Fleet | None = None
        self._listeners = Listeners(self.engine, self._kube_servers())
        ports = range(50000, 65000) if self.options.ports else None
        self.control = Control(self.engine, self.options.token, problems=self._listeners.problems, ports=ports)
        self.address = await self.control.start()
        self.engine.start()

    def _kube_servers(self) -> KubeServers:
        if self.options.kubernetes != "real":
            return KubeServers(self.engine)
        # Most labs do without, and need not wait for it.
        from talosmith.providers.lab.binaries import find_binaries
        from talosmith_lab.server.real_kubernetes.fleet import Fleet
        from talosmith_lab.server.real_kubernetes.servers import RealServers

        self.engine.world.plays_kubernetes = False
        self._real = Fleet(self.engine, self.folder / "kubernetes", find_binaries(self.options.binaries))
        return RealServers(self.engine, self._real)

    @property
    def world(self) -> World:
        return self.engine.world

    async def serve(self) -> None:
        """Until it is asked to stop, or cannot continue."""
        stopping: asyncio.Future[Any] = asyncio.ensure_future(self.control.stopping.wait())
        failed: asyncio.Future[Any] = self.engine.failed
        await asyncio.wait([stopping, failed], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if failed.done():
            failed.result()

    async def stop(self) -> None:
        self.control.close()
        self.engine.close()
        self._listeners.close()
        if self._real is not None:
            await self._real.stop()
        self.engine.failed.cancel()
        await asyncio.sleep(0)  # sockets are closed by the loop's next turn
        self._store.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
