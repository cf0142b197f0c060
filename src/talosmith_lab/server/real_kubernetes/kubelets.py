"""All kubelets of one cluster, played to a real API: they follow nodes and pods there, and machines in the lab."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from talosmith.kube import KubeClient, KubeError, Snapshot, follow
from talosmith_lab.kube.controllers.kubelets import is_alive
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.machine import Machine
from talosmith_lab.naming import hostname
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.real_kubernetes import scheduling
from talosmith_lab.server.real_kubernetes.manifests import Manifests
from talosmith_lab.server.real_kubernetes.nodes import NodeKeeper
from talosmith_lab.server.real_kubernetes.pods import PodKeeper
from talosmith_lab.server.real_kubernetes.programs import GRACE
from talosmith_lab.server.real_kubernetes.writing import Writer

_HANDS = 8  # that work on pods at once
_AGAIN = 1.0  # seconds until something is tried again that did not work

log = logging.getLogger(__name__)


class Kubelets:
    """`schedules`: there is no other scheduler, so pods are given nodes here."""

    def __init__(self, engine: Engine, uid: str, client: KubeClient, *, schedules: bool) -> None:
        self._engine = engine
        self._uid = uid
        self._client = client
        self._schedules = schedules
        writer = Writer(client)
        self._beats = GRACE[engine.world.pace.name] / 5
        self._nodes = NodeKeeper(engine.world, writer, self._beats)
        self._pods = PodKeeper(writer, engine.world.pace.name, self._networked)
        self._manifests = Manifests(engine.world, uid, writer)
        self._writer = writer
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._queued: set[str] = set()
        self._changed = asyncio.Event()
        self._machines: dict[str, Machine] = {}  # those whose kubelets are alive, by the names of their nodes
        self._states: dict[str, tuple[int, bool]] = {}  # their boots, and whether they were ready
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        work: list[Coroutine[Any, Any, None]] = [
            self._follow("Node", self._node_told),
            self._follow("Pod", self._pod_told),
            self._beat(),
            self._manifests.keep(),
            *(self._work() for _ in range(_HANDS)),
        ]
        self._tasks = [asyncio.create_task(one) for one in work]

    def changed(self) -> None:
        """Something about the machines may be different."""
        self._manifests.changed()
        self._changed.set()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task

    # What the API tells

    async def _follow(self, kind: str, told: Callable[[list[Obj], str | None], None]) -> None:
        while True:
            with suppress(KubeError):  # those that do not pass by themselves; the server may have been recreated
                async for event in follow(self._client, "v1", kind):
                    if isinstance(event, Snapshot):
                        told([dict(item) for item in event.items], None)
                    else:
                        told([dict(event.item)], event.kind)
            await asyncio.sleep(_AGAIN)

    def _node_told(self, items: list[Obj], what: str | None) -> None:
        nodes = self._nodes.nodes
        if what is None:
            nodes.clear()
        for node in items:
            name = node["metadata"]["name"]
            before = nodes.pop(name, None)
            if what != "DELETED":
                nodes[name] = node
            if before is None or what == "DELETED" or before["spec"] != node["spec"]:
                self._look_at(name)
                self._changed.set()
            elif before.get("status", {}).get("conditions") != node.get("status", {}).get("conditions"):
                self._changed.set()

    def _pod_told(self, items: list[Obj], what: str | None) -> None:
        pods = self._pods.pods
        if what is None:
            for key in list(pods):
                self._pods.forget(key)
        for pod in items:
            key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            if what == "DELETED":
                self._pods.forget(key)
                continue
            pods[key] = pod
            self._enqueue(key)

    # What follows

    async def _beat(self) -> None:
        while True:
            self._changed.clear()
            self._find_machines()
            await asyncio.gather(*(self._tend_node(machine) for machine in list(self._machines.values())))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._beats):  # `wait_for` forgets a cancellation that comes with a change
                    await self._changed.wait()
            await asyncio.sleep(_AGAIN / 10)  # changes come in swarms

    def _find_machines(self) -> None:
        world = self._engine.world
        cluster = world.clusters.get(self._uid)
        alive = {}
        for machine in world.group(cluster.talos_id) if cluster is not None else ():
            config = world.config(machine)
            if config is not None and not config.skip_node_registration and is_alive(world, machine):
                alive[hostname(world, machine)] = machine
        before, self._machines = self._machines, alive
        for name in alive:
            if name not in before or before[name] is not alive[name]:
                self._look_at(name)
        self._states_looked_at(alive)

    def _states_looked_at(self, alive: dict[str, Machine]) -> None:
        """Pods wait for their node to be ready, and start again with its next boot."""
        now = {name: (one.boots, bool(one.run and one.run.node_ready)) for name, one in alive.items()}
        for name, state in now.items():
            if self._states.get(name) != state:
                self._look_at(name)
        self._states = now

    async def _tend_node(self, machine: Machine) -> None:
        config = self._engine.world.config(machine)
        if config is None or machine.run is None:
            return
        try:
            await self._nodes.tend(machine, config, self._pods.pods)
        except KubeError as problem:
            log.info("node %s: %s", machine.name, problem)
        except Exception:  # one node that cannot be dealt with must not keep the others waiting
            log.exception("node %s", machine.name)

    def _networked(self, machine: Machine) -> None:
        """A CNI runs there: where Talos brings none, the node has waited for it."""
        world = self._engine.world
        if machine.name not in world.networked:
            world.networked.add(machine.name)
            world.unsettled[machine.name] = None
            self._engine.commit()

    def _look_at(self, node: str) -> None:
        for key, pod in self._pods.pods.items():
            if pod["spec"].get("nodeName", node) == node:
                self._enqueue(key)

    def _enqueue(self, key: str) -> None:
        if key not in self._queued:
            self._queued.add(key)
            self._queue.put_nowait(key)

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            self._queued.discard(key)
            try:
                wait = await self._tend_pod(key)
            except KubeError as problem:
                log.info("pod %s: %s", key, problem)
                wait = _AGAIN
            except Exception:  # nor one pod
                log.exception("pod %s", key)
                wait = None
            if wait is not None:
                asyncio.get_running_loop().call_later(wait, self._enqueue, key)

    async def _tend_pod(self, key: str) -> float | None:
        pod = self._pods.pods.get(key)
        if pod is None:
            return None
        name = pod["spec"].get("nodeName")
        if not name:
            return await self._schedule(pod) if self._schedules else None
        machine, node = self._machines.get(name), self._nodes.nodes.get(name)
        if machine is None or node is None or machine.run is None:
            return None
        return await self._pods.tend(key, machine, node, self._engine.world.now())

    async def _schedule(self, pod: Obj) -> float | None:
        chosen = scheduling.choose(pod, self._nodes.nodes.values(), self._pods.pods.values())
        if chosen:
            await self._writer.bind(pod, chosen)
            return None
        return None if not scheduling.is_ours(pod) else _AGAIN
