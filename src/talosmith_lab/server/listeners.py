"""The addresses at which nodes answer: opened and closed as machines come and go, move, or are cut off."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from talosmith.providers.lab.faults import US
from talosmith_lab import naming
from talosmith_lab.machine import Machine
from talosmith_lab.server import tls
from talosmith_lab.server.connections import Connection, Protocols
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.kube.serving import KubeServers
from talosmith_lab.server.secure import Secured

PORT = 50000
_FRESH = 6 * 3600.0  # seconds until a certificate is renewed; certificates live four times as long
_BACKLOG = 256

Place = tuple[str, int]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Listener:
    machine: str
    socket: socket.socket
    kube: bool  # the Kubernetes API, not that of Talos


class Listeners:
    def __init__(self, engine: Engine, kube: KubeServers) -> None:
        self._engine = engine
        self._protocols = Protocols()
        self._kube = kube
        self._listeners: dict[Place, _Listener] = {}
        self._connections: dict[str, set[Connection]] = {}
        self._contexts: dict[str, tuple[tuple[object, ...], float, ssl.SSLContext]] = {}
        self._mute: dict[str, list[socket.socket]] = {}  # accepted and then left alone
        self._tasks: set[asyncio.Task[None]] = set()
        self.problems: dict[str, str] = {}  # why a machine is not where it should be
        engine.on_change.append(self.sync)

    def close(self) -> None:
        for place in list(self._listeners):
            self._close(place)
        for connections in list(self._connections.values()):
            for connection in list(connections):
                connection.abort()
        self._kube.close()
        for task in self._tasks:
            task.cancel()

    def sync(self, names: Iterable[str]) -> None:
        """Make what is open what should be."""
        names = set(names)
        if not names:
            return
        wanted: dict[Place, tuple[str, bool]] = {}
        for name in names:
            machine = self._engine.world.machines.get(name)
            for place, kube in self._places(machine) if machine else ():
                wanted[place] = (name, kube)
            self._drop_connections(name, machine)
            self._kube.drop(name, machine)
        for place, listener in list(self._listeners.items()):
            if listener.machine in names and wanted.get(place, ("", False))[0] != listener.machine:
                self._close(place)
        for place, (name, kube) in wanted.items():
            if place not in self._listeners:
                self._open(place, name, kube)

    def _places(self, machine: Machine) -> Iterator[tuple[Place, bool]]:
        """Where the machine answers, and whether that is the Kubernetes API."""
        for place in self._kube.places(machine):
            yield place, True
        world = self._engine.world
        if not machine.runs("apid") or world.active("refuse", machine.name):
            return
        addresses = naming.addresses(world, machine)
        if machine.port:
            if addresses:
                yield ("127.0.0.1", machine.port), False
            return
        for address in addresses:
            if naming.is_loopback(address):
                yield (address, PORT), False

    def _open(self, place: Place, machine: str, kube: bool) -> None:
        family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(_BACKLOG)
        except OSError as error:
            listening.close()
            self.problems[machine] = f"cannot answer at {place[0]}:{place[1]}: {error.strerror}"
            log.warning("%s %s", machine, self.problems[machine])
            return
        self.problems.pop(machine, None)
        listening.setblocking(False)
        self._listeners[place] = _Listener(machine, listening, kube)
        asyncio.get_running_loop().add_reader(listening, self._accept, place)

    def _close(self, place: Place) -> None:
        listener = self._listeners.pop(place)
        asyncio.get_running_loop().remove_reader(listener.socket)
        listener.socket.close()

    def _accept(self, place: Place) -> None:
        listener = self._listeners.get(place)
        while listener is not None:
            try:
                accepted, _ = listener.socket.accept()
            except OSError:  # no other listener, or one that has just ended
                return
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._greet(accepted, listener.machine, listener.kube)

    def _greet(self, accepted: socket.socket, name: str, kube: bool) -> None:
        world = self._engine.world
        machine = world.machines.get(name)
        if machine is None or machine.run is None:
            accepted.close()
        elif not world.talk(US, name):
            self._mute.setdefault(name, []).append(accepted)
        elif not kube and world.strike("reset", name) is not None:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            accepted.close()
        else:
            serve = self._kube.serve if kube else self._serve
            task = asyncio.get_running_loop().create_task(serve(accepted, machine))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, accepted: socket.socket, machine: Machine) -> None:
        context = self._context(machine)
        if context is None:
            accepted.close()
            return
        maintenance = self._engine.world.config(machine) is None
        connection = Connection(self._engine, machine.name, machine.boots, maintenance)
        self._connections.setdefault(machine.name, set()).add(connection)
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: Secured(context, lambda: self._protocols.protocol(connection), lambda: self._gone(connection)),
            accepted,
        )

    def _gone(self, connection: Connection) -> None:
        self._connections.get(connection.machine, set()).discard(connection)

    def _drop_connections(self, name: str, machine: Machine | None) -> None:
        """Those that belong to an earlier boot, or to maintenance mode that is over."""
        world = self._engine.world
        alive = None
        if machine is not None and machine.runs("apid"):
            alive = (machine.boots, world.config(machine) is None)
        for connection in list(self._connections.get(name, ())):
            if alive != (connection.boot, connection.maintenance):
                connection.close()
        if machine is None or not machine.on or world.talk(US, name):
            for muted in self._mute.pop(name, ()):
                muted.close()

    def _context(self, machine: Machine) -> ssl.SSLContext | None:
        """Made when the first client comes, and again when what it shows has changed."""
        world = self._engine.world
        maintenance = world.config(machine) is None
        key = (
            machine.uuid,
            machine.created,  # another machine may have the name by now
            machine.boots,
            maintenance,
            machine.run.config if machine.run else "",
            tuple(naming.addresses(world, machine)),
            skew.seconds if (skew := world.active("clock-skew", machine.name)) else 0.0,
        )
        known = self._contexts.get(machine.name)
        if known is not None and known[0] == key and world.now() - known[1] < _FRESH:
            return known[2]
        context = tls.maintenance_context(world, machine) if maintenance else tls.node_context(world, machine)
        if context is not None:
            self._contexts[machine.name] = (key, world.now(), context)
        return context
