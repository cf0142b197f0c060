"""Three machines from nothing to nothing, with real guests: what the provider sends to Proxmox VE is what boots.

The API is simulated. The guests are not: QEMU boots them from the uploaded image, and each takes its address and its
config from the seed that the provider made.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from talosmith.desired.nocloud import SeedNetwork
from talosmith.desired.outputs import seed_iso
from talosmith.model.machines import Machine, MachineSpec
from talosmith.model.secret import Secret
from talosmith.providers.images import Source
from talosmith.providers.proxmox.settings import Boot, ProxmoxSettings
from tests.machine_specs import machine_spec, with_settings
from tests.real.libvirt.guest_image import guest_image
from tests.real.libvirt.waking import SILENCE
from tests.real.proxmox.qemu_guests import Network, QemuGuests, exists, guest_network
from tests.resource_contract import create_all, delete_all
from tests.simulators.proxmox import Proxmox, Server, serving
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness
from tools.peers import PeerUnavailable
from tools.peers.libvirt_recipes import prepare

PATIENCE = 1200.0  # seconds in which a guest has booted, however busy the host
SUBNET = "10.210.0"
NAMES = ("w-1", "w-2", "w-3")


def _spec(number: int) -> MachineSpec:
    return machine_spec(
        f"w-{number}", "worker", f"{SUBNET}.{20 + number}", mac=f"52:54:00:c2:02:{number:02x}", vmid=3000 + number,
        cpu=1, ram_mib=192, disks_mib=(64, 8),
    )  # fmt: skip


def _config(name: str) -> Secret:
    return Secret(f"machine: {{type: worker, network: {{hostname: {name}}}}}\n")


class GuestHarness(ProxmoxHarness):
    """Machines that boot: seeds have the static address in them."""

    def settings(self) -> ProxmoxSettings:
        def seed(spec: MachineSpec, config: Secret | None) -> bytes:
            link = SeedNetwork(mac=spec.mac or "", addresses=(f"{spec.ip}/24",), gateways=(f"{SUBNET}.1",))
            return seed_iso(spec.name, config, [link])

        return replace(super().settings(), seed=seed)


@dataclass
class Place:
    """A simulated Proxmox VE with real guests, and a look past it."""

    world: Proxmox
    server: Server
    network: Network
    guests: QemuGuests
    image: Path
    cache: Path
    _heard: dict[int, tuple[int, float]] = field(default_factory=dict)  # how long a console was, and since when

    def harness(self) -> GuestHarness:
        boot = Boot("image", Source(str(self.image), label="guest", setting="proxmox.image"))
        nodes = {spec.name: spec for spec in map(_spec, (1, 2, 3))}
        return GuestHarness(self.world, self.server, self.cache, boot, nodes=nodes, options={"firmware": "bios"})

    async def told(self, spec: MachineSpec) -> dict[str, str]:
        """What the guest says of itself, once it answers."""
        vmid, deadline = spec.node.vmid or 0, time.monotonic() + PATIENCE
        while True:
            try:
                return await asyncio.to_thread(self.network.ask, str(spec.ip))
            except OSError as silent:
                guest = self.guests.all[vmid]
                problem = f"{spec.name} does not answer: {silent}; its console:\n{guest.console}"
                assert guest.runs and time.monotonic() < deadline, problem
            self._wake(vmid)
            await asyncio.sleep(0.1)

    def _wake(self, vmid: int) -> None:
        """In software emulation a guest now and then never gets through its kernel; it is started again."""
        guest, now = self.guests.all[vmid], time.monotonic()
        length, since = self._heard.get(vmid, (-1, now))
        if length != len(guest.console):
            self._heard[vmid] = len(guest.console), now
        elif now - since > SILENCE:
            del self._heard[vmid]
            guest.kill()
            guest.run()

    def process(self, spec: MachineSpec) -> int:
        process = self.guests.all[spec.node.vmid or 0].process
        assert process is not None
        return process.pid

    def seeds(self) -> list[str]:
        return [volid for volid in self.world.volumes if "-seed-" in volid]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("guests on a network of the test's own need root on Linux")
    try:
        prepare()
    except PeerUnavailable as problem:
        pytest.skip(str(problem))
    world = Proxmox()
    with guest_network(f"{SUBNET}.1/24") as network:
        guests = QemuGuests(world, network, tmp_path)
        try:
            with serving(world) as server:
                yield Place(world, server, network, guests, guest_image(), tmp_path / "cache")
        finally:
            guests.end()


@pytest.mark.slow
async def test_three_machines_boot_and_know_who_they_are(place: Place) -> None:
    harness = place.harness()
    provider = harness.provider()
    await create_all(provider)
    specs = [harness.spec(name) for name in NAMES]
    machines = await asyncio.gather(*(provider.create(spec, _config(spec.name)) for spec in specs))
    assert all(machine.seeded and machine.disks_mib == (64, 8) for machine in machines)
    for spec, machine, told in zip(specs, machines, await _all_told(place, specs), strict=True):
        told.pop("serial")  # of QEMU
        assert told == {
            "name": spec.name, "address": str(spec.ip), "mac": spec.mac, "uuid": machine.id.partition("/")[2],
            "cpus": "1", "disks": "64 8", "from": "seed", "config": _hash(_config(spec.name)),
        }  # fmt: skip
    (image,) = [volid for volid in place.world.volumes if ":import/" in volid]
    assert place.world.volume_bytes(image) == place.image.read_bytes()

    # The seeds go, while the machines run.
    processes = [place.process(spec) for spec in specs]
    assert len(place.seeds()) == len(NAMES)
    assert await asyncio.gather(*map(provider.forget_seed, machines)) == [True] * len(NAMES)
    assert not place.seeds() and not any(machine.seeded for machine in await provider.find())
    assert [place.process(spec) for spec in specs] == processes, "a machine was restarted"

    # One loses power, one gets more of everything, one goes on. Those that restarted have kept what they were told.
    await provider.power(machines[0], False)
    assert not exists(processes[0])
    larger = with_settings(specs[1], ram_mib=224, disks_mib=(96, 8, 4))
    _, grown = await asyncio.gather(provider.power(machines[0], True), provider.resize(machines[1], larger))
    assert (grown.id, grown.ram_mib, grown.disks_mib) == (machines[1].id, 224, (96, 8, 4))
    first, second, third = await _all_told(place, specs)
    assert [told["from"] for told in (first, second, third)] == ["disk", "disk", "seed"]
    assert [told["disks"] for told in (first, second, third)] == ["64 8", "96 8 4", "64 8"]
    assert [told["config"] for told in (first, second, third)] == [_hash(_config(name)) for name in NAMES]
    assert place.process(specs[2]) == processes[2]

    processes = [place.process(spec) for spec in specs]
    await _destroyed(place, harness, await provider.find())
    assert not place.guests.all and not any(map(exists, processes))
    await provider.close()


async def _all_told(place: Place, specs: list[MachineSpec]) -> list[dict[str, str]]:
    return await asyncio.gather(*map(place.told, specs))


async def _destroyed(place: Place, harness: GuestHarness, machines: list[Machine]) -> None:
    provider = harness.provider()
    assert [machine.name for machine in machines] == list(NAMES)
    await asyncio.gather(*map(provider.destroy, machines))
    await delete_all(provider, harness.owner)
    await provider.close()
    assert not place.world.vms and not list(place.world.volumes)


def _hash(config: Secret) -> str:
    return hashlib.sha256(config.reveal().encode()).hexdigest()
