"""The API servers of the control planes, where Kubernetes is real: each passes its clients on to the one there is.

What the lab plays stays visible: a control plane without power does not listen, one that is cut off falls silent, and
one whose etcd has no leader answers as the lab's own server does then.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Iterable

from talosmith.providers.lab.faults import US
from talosmith_lab import kubernetes
from talosmith_lab.kube.access import User
from talosmith_lab.machine import Machine
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.kube.app import App
from talosmith_lab.server.kube.http import Answer, Exchange, Request
from talosmith_lab.server.kube.serving import KubeServers
from talosmith_lab.server.real_kubernetes.fleet import Fleet
from talosmith_lab.server.real_kubernetes.tunnel import Tunnel


class RealServers(KubeServers):
    def __init__(self, engine: Engine, fleet: Fleet) -> None:
        super().__init__(engine)
        self._fleet = fleet
        self._tunnels: dict[str, dict[Tunnel, int]] = {}  # with the boot they belong to
        engine.on_change.append(self._look)

    async def serve(self, accepted: socket.socket, machine: Machine) -> None:
        name = machine.name
        if not kubernetes.serves_api(self._engine.world, machine):
            self._apps.setdefault(name, _WithoutLeader(self._engine, self._hub, name))
            await super().serve(accepted, machine)
            return
        address = self._fleet.address(machine)
        if address is None:
            accepted.close()
            return
        tunnel = Tunnel(lambda: self._delay(name), lambda gone: self._ended(name, gone))
        self._tunnels.setdefault(name, {})[tunnel] = machine.boots
        await tunnel.open(accepted, address)

    def drop(self, name: str, machine: Machine | None) -> None:
        super().drop(name, machine)
        self._check(name, machine)

    def close(self) -> None:
        super().close()
        for tunnels in self._tunnels.values():
            for tunnel in list(tunnels):
                tunnel.abort()

    def _ended(self, name: str, tunnel: Tunnel) -> None:
        self._tunnels[name].pop(tunnel, None)

    def _delay(self, name: str) -> float:
        slow = self._engine.world.strike("kube-slow", name)
        return slow.seconds if slow is not None else 0.0

    def _look(self, names: Iterable[str]) -> None:
        """Elections are not reported by name."""
        for name in {*self._tunnels, *self._connections}:
            self._check(name, self._engine.world.machines.get(name))

    def _check(self, name: str, machine: Machine | None) -> None:
        world = self._engine.world
        runs = machine is not None and kubernetes.api_runs(world, machine)
        boot = machine.boots if machine is not None else -1
        talks, serves = world.talk(US, name), machine is not None and kubernetes.serves_api(world, machine)
        for tunnel, since in list(self._tunnels.get(name, {}).items()):
            if not runs or since != boot or (talks and not serves):
                tunnel.abort()
            else:
                tunnel.hold(not talks)
        if serves:  # those that the lab itself answered meanwhile
            for connection in list(self._connections.get(name, {})):
                connection.abort()


class _WithoutLeader(App):
    """Its storage holds nothing of what the real one does, and must not be seen."""

    def handle(self, request: Request, exchange: Exchange, certificate: User | None) -> Answer | Awaitable[None]:
        machine = self.engine.world.machines.get(self.machine)
        if machine is None or kubernetes.serves_api(self.engine.world, machine):
            return Answer(503, b"", "text/plain")
        return super().handle(request, exchange, certificate)
