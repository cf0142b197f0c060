"""Load balancers of the simulated AWS that forward: a TCP server for each listener, at an address of this computer.

Which targets there are is looked up for each connection, so a target that is registered or deregistered counts at
once. A connection goes to the next target in turn that accepts it, and is closed if none does.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Network
from typing import Any

from . import images  # isort: skip
from moto.elbv2.models import elbv2_backends

from .naming import balancers
from .world import Cloud

assert images  # before moto
_FIRST = 250  # of a network, load balancers get addresses from here downwards
Place = tuple[str, int]


@dataclass
class Forwarder:
    """`with Forwarder(cloud, "127.1.2.0/24").running():`"""

    cloud: Cloud
    network: str
    connections: list[tuple[Place, Place]] = field(default_factory=list)  # the listener's place, and the target's
    problems: list[str] = field(default_factory=list)
    _servers: dict[Place, asyncio.Server] = field(default_factory=dict)
    _turn: Iterator[int] = field(default_factory=itertools.count)

    @contextmanager
    def running(self) -> Iterator[Forwarder]:
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="balancers", daemon=True)
        thread.start()
        self.cloud.on_listeners.append(self._follow)
        self._follow()
        try:
            yield self
        finally:
            if self._follow in self.cloud.on_listeners:
                self.cloud.on_listeners.remove(self._follow)
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    @property
    def places(self) -> set[Place]:
        """Where listeners are served now."""
        return set(self._servers)

    def _follow(self) -> None:
        """Called by the simulator, with its lock held, when there are other listeners than before."""
        wanted = {
            (self._address(balancer), int(listener.port))
            for balancer in balancers()
            for listener in balancer.listeners.values()
        }
        asyncio.run_coroutine_threadsafe(self._serve(wanted), self._loop).result(10)

    def _address(self, balancer: Any) -> str:
        """As a test has set it, else a free one of its VPC, if that is of this computer, or of the forwarder."""
        given = self.cloud.balancer_addresses
        if not self.cloud.address_of(balancer):
            vpc = IPv4Network(balancer.subnets[0].ec2_backend.vpcs[balancer.vpc_id].cidr_block)
            network = vpc if vpc.is_loopback and vpc.num_addresses > _FIRST else IPv4Network(self.network)
            hosts = (str(network[number]) for number in range(_FIRST, 0, -1))
            given[balancer.arn] = next(host for host in hosts if host not in given.values())
        return self.cloud.address_of(balancer)

    def _targets(self, place: Place) -> list[Place]:
        """Of the listener at a place: private addresses and ports. None before the load balancer is active."""
        found = []
        with self.cloud.mutex:
            for balancer in balancers():
                if self.cloud.address_of(balancer) != place[0]:
                    continue
                balancer.activate()
                for listener in balancer.listeners.values():
                    if balancer.state == "active" and int(listener.port) == place[1]:
                        for action in listener.default_actions:
                            found += self._members(balancer, action.data.get("TargetGroupArn"))
        return found

    def _members(self, balancer: Any, arn: str | None) -> list[Place]:
        region, account = balancer.arn.split(":")[3:5]
        backend = elbv2_backends[account][region]
        group = backend.target_groups.get(arn or "")
        found = []
        for target in group.targets.values() if group else ():
            instance = backend.ec2_backend.get_instance_by_id(target["Id"])
            address = instance.private_ip if instance else target["Id"]
            if address and (instance is None or instance.state == "running"):
                found.append((str(address), int(target["Port"])))
        return found

    # In the event loop

    async def _serve(self, wanted: set[Place]) -> None:
        for place in set(self._servers) - wanted:
            self._servers.pop(place).close()
        for place in wanted - set(self._servers):
            try:
                self._servers[place] = await asyncio.start_server(partial(self._forward, place), *place)
            except OSError as problem:
                self.problems.append(f"{place}: {problem}")

    async def _end(self) -> None:
        await self._serve(set())
        forwarding = asyncio.all_tasks() - {asyncio.current_task()}
        for task in forwarding:
            task.cancel()
        await asyncio.gather(*forwarding, return_exceptions=True)

    async def _forward(self, place: Place, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        targets = await asyncio.get_running_loop().run_in_executor(None, self._targets, place)
        turn = next(self._turn) % len(targets) if targets else 0
        for target in targets[turn:] + targets[:turn]:
            with suppress(OSError, TimeoutError):
                there = await asyncio.wait_for(asyncio.open_connection(*target), 2)
                self.connections.append((place, target))
                await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))
                break
        else:
            writer.transport.abort()
        with suppress(OSError):
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.write_eof()
