"""What Talos itself brings into a cluster (flannel, CoreDNS, kube-proxy), brought to the real API."""

from __future__ import annotations

import asyncio
import logging

from talosmith.kube import KubeError
from talosmith_lab import kubernetes
from talosmith_lab.kube.controllers import manifests
from talosmith_lab.kube.controllers.settings import settings_of
from talosmith_lab.server.real_kubernetes.writing import TALOS, Writer
from talosmith_lab.world import World

_AGAIN = 1.0  # seconds

log = logging.getLogger(__name__)


class Manifests:
    """Each control plane does it once in a boot, and again for another config; what is there stays as it is."""

    def __init__(self, world: World, uid: str, writer: Writer) -> None:
        self._world = world
        self._uid = uid
        self._writer = writer
        self._done: set[tuple[str, int, str]] = set()
        self._changed = asyncio.Event()

    def changed(self) -> None:
        self._changed.set()

    async def keep(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self._bring()
            except KubeError as problem:  # the server may not have made its namespaces yet
                log.info("Talos' own manifests: %s", problem)
                await asyncio.sleep(_AGAIN)
                continue
            await self._changed.wait()

    async def _bring(self) -> None:
        world, cluster = self._world, self._world.clusters.get(self._uid)
        for machine in list(world.control_planes(cluster.talos_id)) if cluster is not None else ():
            config = world.config(machine)
            if config is None or machine.run is None or not kubernetes.serves_api(world, machine):
                continue
            what = (machine.name, machine.boots, machine.run.config)
            if what not in self._done:
                for obj in manifests.objects(config, settings_of(world, machine)):
                    await self._writer.create(obj, TALOS)
                self._done.add(what)
