"""The real Kubernetes of all clusters in a lab: each etcd cluster whose control planes serve an API has one."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path

from talosmith.providers.lab.binaries import Binaries
from talosmith_lab import kubernetes
from talosmith_lab.machine import Machine
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.real_kubernetes.cluster import RealCluster


class Fleet:
    def __init__(self, engine: Engine, folder: Path, binaries: Binaries) -> None:
        self._engine = engine
        self._folder = folder
        self._binaries = binaries
        self._clusters: dict[str, RealCluster] = {}
        self._endings: set[asyncio.Task[None]] = set()
        engine.on_change.append(self._sync)

    def address(self, machine: Machine) -> tuple[str, int] | None:
        """Where the API server is that a control plane stands for; None while there is none."""
        cluster = self._engine.world.etcd_of(machine)
        found = self._clusters.get(cluster.uid) if cluster is not None else None
        return found.address if found is not None else None

    async def stop(self) -> None:
        self._engine.on_change.remove(self._sync)
        await asyncio.gather(*(cluster.stop() for cluster in self._clusters.values()), *self._endings)
        self._clusters.clear()

    def _sync(self, names: Iterable[str]) -> None:
        world = self._engine.world
        for uid, cluster in world.clusters.items():
            if uid in self._clusters:
                self._clusters[uid].changed()
            elif any(kubernetes.api_runs(world, machine) for machine in world.control_planes(cluster.talos_id)):
                self._clusters[uid] = RealCluster(self._engine, uid, self._folder_of(uid), self._binaries)
        for uid in [uid for uid in self._clusters if uid not in world.clusters]:
            task = asyncio.create_task(self._forget(uid, self._clusters.pop(uid)))
            self._endings.add(task)
            task.add_done_callback(self._endings.discard)

    async def _forget(self, uid: str, cluster: RealCluster) -> None:
        """Its last member is gone, and its data with it."""
        await cluster.stop()
        shutil.rmtree(self._folder_of(uid), ignore_errors=True)

    def _folder_of(self, uid: str) -> Path:
        return self._folder / hashlib.sha256(uid.encode()).hexdigest()[:16]
