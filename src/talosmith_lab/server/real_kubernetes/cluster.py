"""One cluster's real Kubernetes, from the first control plane that should serve its API to the end of the lab."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from talosmith.errors import TalosmithError
from talosmith.kube import KubeClient, KubeError
from talosmith.providers.lab.binaries import Binaries
from talosmith_lab import kubernetes
from talosmith_lab.machine import Machine
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.kube.tls import names_of
from talosmith_lab.server.real_kubernetes.children import end_orphans
from talosmith_lab.server.real_kubernetes.files import Files, administrator
from talosmith_lab.server.real_kubernetes.following import cancel
from talosmith_lab.server.real_kubernetes.identity import Identity, identity_of
from talosmith_lab.server.real_kubernetes.kubelets import Kubelets
from talosmith_lab.server.real_kubernetes.operators import Operators
from talosmith_lab.server.real_kubernetes.pod_network import PodNetwork
from talosmith_lab.server.real_kubernetes.programs import Programs
from talosmith_lab.server.real_kubernetes.webhooks import Webhooks

_POLL = 0.1
_PAUSE = 2.0  # before all is tried again that went wrong

log = logging.getLogger(__name__)


class RealCluster:
    def __init__(self, engine: Engine, uid: str, folder: Path, binaries: Binaries) -> None:
        self.address: tuple[str, int] | None = None  # of the API server, once it answers
        self._engine = engine
        self._uid = uid
        self._binaries = binaries
        self._files = Files(folder)
        self._identity: Identity | None = None
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._live())

    def changed(self) -> None:
        """Something in the world is different."""
        self._changed.set()

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def control_planes(self) -> list[Machine]:
        """All that belong to it, whether they run or not."""
        world = self._engine.world
        found = world.clusters.get(self._uid)
        return list(world.control_planes(found.talos_id)) if found is not None else []

    @property
    def _serves(self) -> bool:
        world = self._engine.world
        return any(kubernetes.serves_api(world, machine) for machine in self.control_planes())

    async def _live(self) -> None:
        while True:
            try:
                await self._run()
            except (OSError, TalosmithError) as problem:
                log.warning("the real Kubernetes of %s: %s", self._uid, problem)
            except Exception:  # the lab's machines go on; the log has the error
                log.exception("the real Kubernetes of %s", self._uid)
            await asyncio.sleep(_PAUSE)

    async def _run(self) -> None:
        """With one identity; ends when the cluster gets another."""
        identity = await self._known_identity()
        end_orphans(self._files.folder)
        host = self._host()
        self._files.write(identity, host)
        etcd, port = _free_ports(host, 2)
        apiserver = f"{host}:{port}"
        self._files.write_kubeconfigs(identity, apiserver)
        self._show_names(identity)
        pace = self._engine.world.pace.name
        programs = Programs(self._binaries, self._files, identity, pace, f"{host}:{etcd}", apiserver)
        network = PodNetwork(self._files.pod_network())
        try:
            port_of_pods = await network.start(host, identity.aggregator.certificate)
            self._files.write_egress(f"{host}:{port_of_pods}")
            programs.etcd.start()
            programs.apiserver.start()
            async with KubeClient([apiserver], administrator(identity)) as client:
                await _until_ready(client)
                self.address = (host, port)
                kubelets = Kubelets(self._engine, self._uid, client, schedules=not programs.has_scheduler)
                operators = Operators(client, pace, lambda: self._serves, self._engine.world.now)
                keepers = [asyncio.create_task(one.keep()) for one in (operators, Webhooks(client, network))]
                try:
                    await self._follow(identity, programs, kubelets, operators)
                finally:
                    await kubelets.stop()
                    await cancel(keepers)
        finally:
            self.address = None
            network.stop()
            await programs.stop()

    async def _follow(self, identity: Identity, programs: Programs, kubelets: Kubelets, operators: Operators) -> None:
        kubelets.start()
        while self._now_known() in (None, identity):
            self._changed.clear()  # before anything is looked at: while programs end, the world goes on
            self._show_names(identity)
            # The controllers run on control planes too: without one that serves they must not judge who is silent.
            if self._serves:
                for child in programs.controllers:
                    child.start()
            else:
                for child in programs.controllers:
                    await child.stop()
            kubelets.changed()
            operators.changed()
            await self._changed.wait()

    async def _known_identity(self) -> Identity:
        while (found := self._now_known()) is None:
            self._changed.clear()
            await self._changed.wait()
        return found

    def _now_known(self) -> Identity | None:
        world = self._engine.world
        runs = [machine for machine in self.control_planes() if kubernetes.api_runs(world, machine)]
        return identity_of(world, runs[0]) if runs else None

    def _show_names(self, identity: Identity) -> None:
        """One server answers for all control planes, by whatever name and address each of them is known."""
        world = self._engine.world
        names = {}
        for machine in self.control_planes():
            config = world.config(machine)
            if config is not None:
                names.update(dict.fromkeys(names_of(world, machine, config)))
        if names:
            self._files.show_names(identity, sorted(names))

    def _host(self) -> str:
        """In the lab's own network no other program takes a port meanwhile. Without one, as all machines."""
        world = self._engine.world
        ports = any(machine.port for machine in world.machines.values())
        return "127.0.0.1" if ports else str(world.subnet[-2])


async def _until_ready(client: KubeClient) -> None:
    """For as long as it takes: what keeps it is in the logs, and until then the lab's machines have no API server."""
    while True:
        with suppress(KubeError):
            if (await client.caller.ask("GET", "/readyz", attempts=1)).status == 200:
                return
        await asyncio.sleep(_POLL)


def _free_ports(host: str, count: int) -> list[int]:
    with ExitStack() as stack:  # all of them held until the last is known
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((host, 0))
        return [int(one.getsockname()[1]) for one in sockets]
