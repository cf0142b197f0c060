"""The lab's provider in front of a lab in this process, whose clock can be moved."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from talosmith.lab.client import LabClient
from talosmith.lab.server.lab import LabServer
from talosmith.model.cluster import Role
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.secret import Secret
from talosmith.providers.base import Finding
from talosmith.providers.contract import There
from talosmith.providers.lab.calls import LabCalls
from talosmith.providers.lab.home import Calls
from talosmith.providers.lab.provider import LabProvider

OWNER = Owner("tested", "0123456789abcdef")
PATIENCE = 0.5  # in which a call that is answered must be


@dataclass
class ServedLab:
    """A home whose lab is always there."""

    server: LabServer
    patience: float = 30.0
    name: str = "served"
    calls: int = 0

    async def enter(self) -> Calls | None:
        host, port = self.server.address
        calls = LabCalls(LabClient(self.name, host, port, Secret(self.server.options.token)), self.patience)

        async def counted(what: str, **arguments: Any) -> Any:
            self.calls += 1
            return await calls(what, **arguments)

        return counted

    async def make(self) -> Calls:
        calls = await self.enter()
        assert calls is not None
        return calls

    async def delete(self) -> None:
        self.server.control.delete(list(self.server.world.machines))

    def look(self) -> list[Finding]:
        return [Finding(level="ok", check="the lab")]


@dataclass
class LabHarness:
    server: LabServer
    owner: Owner = OWNER
    provided: type[LabProvider] = LabProvider
    home: ServedLab = field(init=False)
    ahead: float = 0.0

    def __post_init__(self) -> None:
        self.home = ServedLab(self.server)
        self.server.world.now = lambda: time.time() + self.ahead

    def provider(self) -> LabProvider:
        return self.provided(self.owner, self.home)

    def spec(self, name: str, role: Role = "worker") -> MachineSpec:
        offset = (10 if role == "controlplane" else 20) + int(name.rpartition("-")[2])
        return MachineSpec(
            name=name,
            role=role,
            ip=ip_address(str(self.server.world.subnet[offset])),
            mac=f"52:54:00:00:00:{offset:02x}",
            cpu=3,
            ram_mib=3072,
            disks_mib=(10240, 5120),
            talos_version="v1.13.8",
        )

    async def there(self) -> list[There]:
        listed = self.server.control.list_machines()
        return [There(one["uuid"], one["name"], one["tags"], one["power"]) for one in listed]

    def calls(self) -> int:
        return self.home.calls

    async def lose_answers(self, times: int) -> None:
        """The provider gives up sooner, so that nobody has to wait for it."""
        self.home.patience = PATIENCE
        for method in ("machine.create", "machine.delete"):
            self.server.control.add_fault("time-out", method=method, times=times)

    async def fail_some(self, percent: float) -> None:
        self.server.control.clear_faults()
        if percent:
            self.server.control.add_fault("fail", method="*", percent=percent)

    async def hide_new(self, seconds: float) -> None:
        await self.pass_time(seconds + 1)  # those that are there already are old enough
        self.server.control.add_fault("unlisted", seconds=seconds)

    async def pass_time(self, seconds: float) -> None:
        self.ahead += seconds
        self.server.engine.commit()

    async def intrude(self, name: str, tags: Mapping[str, str]) -> str:
        return str(self.server.control.create(name, tags=dict(tags))["uuid"])
