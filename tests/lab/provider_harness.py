"""The lab's provider in front of a lab in this process, whose clock can be moved."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from talosmith.model.cluster import Role
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.secret import Secret
from talosmith.providers.base import Finding
from talosmith.providers.lab.calls import LabCalls
from talosmith.providers.lab.client import LabClient
from talosmith.providers.lab.home import Calls
from talosmith.providers.lab.provider import LabProvider
from talosmith_lab.faults import Fault
from talosmith_lab.server.lab import LabServer
from tests.clock import Clock
from tests.machine_specs import machine_spec
from tests.provider_contract import There

OWNER = Owner("tested", "0123456789abcdef")
PATIENCE = 120.0  # seconds: for what comes at once, but not on a busy machine


@dataclass
class ServedLab:
    """A home whose lab is always there."""

    server: LabServer
    patience: float = PATIENCE
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

    async def others_with(self, cluster_id: str) -> dict[str, list[dict[str, Any]]]:
        return {}


@dataclass
class LabHarness:
    server: LabServer
    owner: Owner = OWNER
    provided: type[LabProvider] = LabProvider
    home: ServedLab = field(init=False)
    clock: Clock = field(init=False)
    waiting: list[asyncio.Task[None]] = field(default_factory=list)
    ahead: float = 0.0

    def __post_init__(self) -> None:
        self.home = ServedLab(self.server)
        self.clock = Clock()
        self.server.world.now = lambda: time.time() + self.ahead

    def provider(self) -> LabProvider:
        return self.provided(self.owner, self.home)

    def spec(self, name: str, role: Role = "worker") -> MachineSpec:
        offset = (10 if role == "controlplane" else 20) + int(name.rpartition("-")[2])
        return machine_spec(
            name,
            role,
            str(self.server.world.subnet[offset]),
            mac=f"52:54:00:00:00:{offset:02x}",
            cpu=3,
            ram_mib=3072,
            disks_mib=(10240, 5120),
        )

    async def there(self) -> list[There]:
        listed = self.server.control.list_machines()
        return [There(one["uuid"], one["name"], one["tags"], one["power"]) for one in listed]

    def calls(self) -> int:
        return self.home.calls

    async def lose_answers(self, times: int) -> None:
        """The provider's patience is over as soon as an answer is lost, so that nobody has to wait for it."""
        faults = self.server.world.faults
        for method in ("machine.create", "machine.delete"):
            made = self.server.control.add_fault("time-out", method=method, times=times)
            self.waiting.append(asyncio.create_task(self._run_out(faults[made["id"]])))

    async def _run_out(self, fault: Fault) -> None:
        left = fault.times
        while left:
            await asyncio.sleep(0.01)
            if fault.times != left:
                left = fault.times
                self.clock.forward(self.home.patience)

    async def fail_some(self, percent: float) -> None:
        self.server.control.clear_faults()
        if percent:
            # Under a name of its own: the number that it would get is another one each time, and so is chance then.
            self.server.world.faults["some"] = Fault(id="some", kind="fail", percent=percent)

    async def hide_new(self, seconds: float) -> None:
        await self.pass_time(seconds + 1)  # those that are there already are old enough
        self.server.control.add_fault("unlisted", seconds=seconds)

    async def pass_time(self, seconds: float) -> None:
        self.ahead += seconds
        self.server.engine.commit()

    async def intrude(self, name: str, tags: Mapping[str, str]) -> str:
        return str(self.server.control.create(name, tags=dict(tags))["uuid"])
