"""A cluster's provider on the tests' libvirtd, and a look past it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from talosmith.desired.nocloud import SeedNetwork
from talosmith.desired.outputs import seed_iso
from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.providers import Libvirt
from talosmith.model.secret import Secret
from talosmith.providers.images import Source
from talosmith.providers.libvirt.connection import Host, libvirt
from talosmith.providers.libvirt.networks import Network
from talosmith.providers.libvirt.provider import LibvirtProvider
from talosmith.providers.libvirt.settings import LibvirtSettings
from tests.machine_specs import machine_spec, with_settings
from tests.real.libvirt.daemon import Daemon
from tests.real.libvirt.waking import Waking, ask
from tests.resource_contract import create_all, delete_all
from tests.waiting import comes_true

OWNER = Owner("real", "00112233445566aa")
PATIENCE = 1200.0  # seconds in which a guest has booted, however busy the host
CONFIG, OTHER = Secret("machine: {type: worker}\n"), Secret("machine: {type: worker, sysctls: {a: b}}\n")


class Place:
    """A cluster's provider on the daemon, and a look past it."""

    def __init__(self, daemon: Daemon, subnet: str, image: Path, cache: Path, **settings: Any) -> None:
        self.daemon, self.subnet = daemon, subnet
        self.section = Libvirt(
            uri=daemon.uri, pool=f"pool-{subnet}", pool_path=f"{daemon.pool_path}-{subnet}", network=f"net-{subnet}",
            autostart=False, **settings,
        )  # fmt: skip
        network = Network(f"net-{subnet}", OWNER, "isolated", f"{subnet}.1", 24)
        source = Source(str(image))
        self.settings = LibvirtSettings(
            self.section, self._seed, lambda _: source, network, cache, patience=10.0, sources=(source,)
        )
        self.provider = LibvirtProvider(OWNER, Host(daemon.uri), self.settings)
        self.connection = libvirt().open(daemon.uri)
        self._waking = Waking(daemon)

    def _seed(self, spec: MachineSpec, config: Secret | None) -> bytes:
        link = SeedNetwork(mac=spec.mac or "", addresses=(f"{spec.ip}/24",), gateways=(f"{self.subnet}.1",))
        return seed_iso(spec.name, config, [link])

    def spec(self, number: int = 1, **changes: Any) -> MachineSpec:
        wanted = machine_spec(
            f"w-{number}", "worker", f"{self.subnet}.{20 + number}",
            mac=f"52:54:00:c2:01:{number:02x}", cpu=1, ram_mib=192, disks_mib=(64, 8),
        )  # fmt: skip
        return with_settings(wanted, **changes)

    @property
    def files(self) -> list[str]:
        folder = Path(self.section.pool_path or "")
        return sorted(one.name for one in folder.iterdir()) if folder.exists() else []

    def seeds(self) -> list[str]:
        return [name for name in self.files if name.endswith(".iso")]

    async def told(self, spec: MachineSpec) -> dict[str, str]:
        """What the guest says of itself, once it answers."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return await asyncio.to_thread(ask, self.daemon, str(spec.ip))
            except OSError as silent:
                if time.monotonic() > deadline:
                    (machine,) = await self.provider.find()
                    console = await self.provider.console(machine)
                    raise AssertionError(f"the guest does not answer: {silent}; its console:\n{console}") from None
            await asyncio.to_thread(self._waking.look, self.connection)
            await asyncio.sleep(0.25)

    async def writes(self, machine: Machine, line: str) -> None:
        """The guest, to its console. What it writes there takes its time, through QEMU and libvirt's own log."""

        async def look() -> str:
            console = await self.provider.console(machine)
            return "" if f"{line}\n" in console else f"no {line!r} on the console:\n{console}"

        await comes_true(look)

    async def stand(self) -> None:
        await create_all(self.provider)

    async def create(self, number: int = 1, **changes: Any) -> Machine:
        """A machine, and what it stands on before, as a plan has it."""
        await self.stand()
        return await self.provider.create(self.spec(number, **changes))

    async def end(self) -> None:
        for machine in await self.provider.find():
            await self.provider.destroy(machine)
        await delete_all(self.provider, OWNER)
        await self.provider.close()
