"""The API servers of all control planes: where they listen, and the connections to them."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Iterator

from talosmith_lab import kubernetes, naming
from talosmith_lab.kube.access import User, from_certificate
from talosmith_lab.machine import Machine
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.kube.app import App
from talosmith_lab.server.kube.http import Answer, Connection, Exchange, Request
from talosmith_lab.server.kube.hub import Hub
from talosmith_lab.server.kube.tls import api_context
from talosmith_lab.server.secure import Secured

PORT = 6443
_FIRST_PORT = 50000  # of the Talos API, where machines have ports instead of addresses
_FRESH = 90 * 86400.0  # seconds until a certificate is renewed


class KubeServers:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._hub = Hub(engine)
        self._apps: dict[str, App] = {}
        self._connections: dict[str, dict[Connection, int]] = {}  # with the boot they belong to
        self._contexts: dict[str, tuple[tuple[object, ...], float, ssl.SSLContext]] = {}

    def places(self, machine: Machine) -> Iterator[tuple[str, int]]:
        """Where the machine's API server answers, if it runs one."""
        world = self._engine.world
        if not kubernetes.api_runs(world, machine):
            return
        addresses = naming.addresses(world, machine)
        if machine.port:
            if addresses:
                yield "127.0.0.1", port_of(machine)
            return
        yield from ((address, PORT) for address in addresses if naming.is_loopback(address))

    async def serve(self, accepted: socket.socket, machine: Machine) -> None:
        context = self._context(machine)
        if context is None:
            accepted.close()
            return
        name, boot = machine.name, machine.boots
        app = self._apps.setdefault(name, App(self._engine, self._hub, name))

        def made() -> asyncio.Protocol:
            user: list[User | None] = [None]

            def handler(request: Request, exchange: Exchange) -> Answer | Awaitable[None]:
                return app.handle(request, exchange, user[0])

            def known(connection: Connection) -> bool:
                self._connections.setdefault(name, {})[connection] = boot
                user[0] = _client(connection)
                return True

            return Connection(handler, known, self._gone)

        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: Secured(context, made, lambda: None), accepted
        )

    def _gone(self, connection: Connection) -> None:
        for connections in self._connections.values():
            connections.pop(connection, None)

    def drop(self, name: str, machine: Machine | None) -> None:
        """Connections to a server that no longer runs, or not in this boot."""
        alive = machine.boots if machine is not None and kubernetes.api_runs(self._engine.world, machine) else None
        for connection, boot in list(self._connections.get(name, {}).items()):
            if boot != alive:
                connection.abort()

    def close(self) -> None:
        for connections in self._connections.values():
            for connection in list(connections):
                connection.abort()

    def _context(self, machine: Machine) -> ssl.SSLContext | None:
        """Made when the first client comes, and again when what it shows has changed."""
        world = self._engine.world
        digest = machine.run.config if machine.run else ""
        key = (machine.boots, digest, tuple(naming.addresses(world, machine)))
        known = self._contexts.get(machine.name)
        if known is not None and known[0] == key and world.now() - known[1] < _FRESH:
            return known[2]
        context = api_context(world, machine)
        if context is not None:
            self._contexts[machine.name] = (key, world.now(), context)
        return context


def port_of(machine: Machine) -> int:
    """The first machine of a lab without addresses has the usual port, the next one the next."""
    return PORT + machine.port - _FIRST_PORT if machine.port else PORT


def _client(connection: Connection) -> User | None:
    if connection.transport is None:
        return None
    security: ssl.SSLObject = connection.transport.get_extra_info("ssl_object")
    certificate = security.getpeercert(binary_form=True)
    return from_certificate(certificate) if certificate else None
