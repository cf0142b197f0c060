"""Machines for the provider `metal`: simulated ones of a lab, on loopback, where it finds them by their addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from talosmith.model.cluster import Node, Role
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.services import Image
from talosmith.providers.metal import MetalProvider
from talosmith_lab.server.lab import LabServer
from tests.machine_specs import spec_of
from tests.provider_contract import There

OWNER = Owner("tested", "0123456789abcdef")


def node(name: str, ip: str, role: Role = "controlplane", *, mac: str | None = None, pin: str | None = None) -> Node:
    return Node(name=name, role=role, ip=ip_address(ip), mac=mac, fingerprint=pin, image=Image())


def spec(of: Node) -> MachineSpec:
    return spec_of(of)


async def until(holds: Callable[[], bool], seconds: float = 300.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)


@dataclass
class MetalHarness:
    """For the parts of the contract that are about machines nobody makes."""

    server: LabServer
    owner: Owner = OWNER

    def nodes(self) -> list[Node]:
        subnet = self.server.world.subnet
        return [node("cp-1", str(subnet[11])), node("w-1", str(subnet[21]), "worker")]

    def provider(self) -> MetalProvider:
        return MetalProvider(self.nodes(), self.owner)

    def spec(self, name: str, role: Role = "worker") -> MachineSpec:
        (found,) = [one for one in self.nodes() if one.name == name and one.role == role]
        return spec(found)

    async def there(self) -> list[There]:
        listed = self.server.control.list_machines()
        return [There(one["uuid"], one["name"], one["tags"], one["power"]) for one in listed]
