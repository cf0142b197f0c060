"""Operators of add-ons and cloud controller managers, played to a real API while their pods are available."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from talosmith.kube import KubeClient
from talosmith.providers.lab.process import PaceName
from talosmith_lab.clock import PACES
from talosmith_lab.kube import cloud_controllers as cloud
from talosmith_lab.kube.cluster import stamp
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.operators import Need, Operator, Tended, running, status_of
from talosmith_lab.server.real_kubernetes.following import Followed, cancel, look_on_changes
from talosmith_lab.server.real_kubernetes.writing import Writer


class Operators:
    """`serves`: whether a control plane answers; without one no pod could reach the API."""

    def __init__(
        self, client: KubeClient, pace: PaceName, serves: Callable[[], bool], now: Callable[[], float]
    ) -> None:
        self._client = client
        self._writer = Writer(client)
        self._serves, self._now = serves, now
        self._changed = asyncio.Event()
        self._pause = PACES[pace]["operator"][1]
        self._deployments, self._daemon_sets = (
            self._followed("apps/v1", kind) for kind in ("Deployment", "DaemonSet")
        )
        self._nodes = self._followed("v1", "Node")
        self._tended: dict[tuple[str, str], tuple[Followed, asyncio.Task[None]]] = {}  # of those that run
        self._registered: set[str] = set()  # definitions

    def changed(self) -> None:
        """Something in the world is different."""
        self._changed.set()

    async def keep(self) -> None:
        try:
            followed = (self._deployments, self._daemon_sets, self._nodes)
            await look_on_changes(self._changed, self._look, self._pause, followed)
        finally:
            await cancel([task for _, task in self._tended.values()])

    def _followed(self, api_version: str, kind: str) -> Followed:
        return Followed(self._client, api_version, kind, self._changed.set)

    async def _look(self) -> None:
        if not self._serves():
            return
        workloads = [*self._deployments.items.values(), *self._daemon_sets.items.values()]
        operators = running(workloads)
        await self._follow(operators)
        for operator in operators:
            await self._register(operator)
            for tended in operator.tends:
                await self._tend(tended)
        manager = cloud.initialiser(workloads)
        if manager is not None:
            await self._initialise(manager)

    async def _follow(self, operators: list[Operator]) -> None:
        wanted = {(tended.api_version, tended.kind) for operator in operators for tended in operator.tends}
        for kind in wanted - self._tended.keys():
            followed = self._followed(*kind)
            self._tended[kind] = followed, asyncio.create_task(followed.run())
        for kind in self._tended.keys() - wanted:
            await cancel([self._tended.pop(kind)[1]])

    async def _register(self, operator: Operator) -> None:
        for definition in operator.definitions:
            name = definition["metadata"]["name"]
            if name not in self._registered:
                await self._writer.create(definition, operator.name)
                self._registered.add(name)

    async def _tend(self, tended: Tended) -> None:
        followed, _ = self._tended[tended.api_version, tended.kind]
        for obj in list(followed.items.values()):
            status = status_of(tended, obj, self._find, stamp(self._now()))
            if status != (obj.get("status") or {}):
                await self._writer.merge(obj, {"status": status}, "status")

    def _find(self, need: Need) -> Obj | None:
        found = self._tended.get((need.api_version, need.kind))
        return found[0].items.get(f"{need.namespace}/{need.name}") if found is not None else None

    async def _initialise(self, manager: Obj) -> None:
        for node in list(self._nodes.items.values()):
            spec = cloud.initialised(node, manager)
            if spec is not None:
                change = {"providerID": spec["providerID"], "taints": spec.get("taints")}
                version = {"resourceVersion": node["metadata"]["resourceVersion"]}  # other taints may have come since
                await self._writer.merge(node, {"metadata": version, "spec": change})
