"""The libvirt provider in front of libvirt's own test driver, or of a real one; things can go wrong on the way there.

The test driver keeps domains, volumes and networks in this process, but moves no bytes: uploads are noted here.
"""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from talosmith.desired.outputs import seed_iso
from talosmith.model.cluster import Role
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.providers import Libvirt
from talosmith.model.resources import ResourceKey
from talosmith.model.secret import Secret
from talosmith.providers.images import Source
from talosmith.providers.libvirt.connection import Host, libvirt
from talosmith.providers.libvirt.domain import Domain, Link, read, render
from talosmith.providers.libvirt.failures import Interrupted
from talosmith.providers.libvirt.networks import Network, read_network, render_network
from talosmith.providers.libvirt.provider import LibvirtProvider
from talosmith.providers.libvirt.settings import LibvirtSettings
from talosmith.providers.libvirt.storage import Volume, claim_name, claimed, is_image, render_volume
from tests.machine_specs import machine_spec
from tests.provider_contract import There
from tests.resource_contract import ResourceThere, create_all

T = TypeVar("T")
OWNER = Owner("tested", "0123456789abcdef")
TEST_DRIVER = "test:///default"
TEST_POOL = "default-pool"


@dataclass
class Trouble:
    """What goes wrong on the way to the host, for all connections of a harness."""

    calls: int = 0
    lost: int = 0
    chance: float = 0.0
    dice: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311
    now: float = 0.0
    hidden_for: float = 0.0
    born: dict[str, float] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class TroubledHost(Host):
    def __init__(self, uri: str, trouble: Trouble, *, moves_bytes: bool) -> None:
        super().__init__(uri)
        self.trouble = trouble
        self._moves_bytes = moves_bytes

    def perform(self, what: str, work: Callable[[Any], T]) -> T:
        trouble = self.trouble
        with trouble.lock:
            trouble.calls += 1
            fails = trouble.dice.random() * 100 < trouble.chance
            loses = trouble.lost > 0 and what.startswith(("define", "remove", "create ", "delete "))
            trouble.lost -= loses
        if fails:
            raise Interrupted(f"{what}: the connection to libvirt broke")
        done = super().perform(what, work)
        if loses:
            raise Interrupted(f"{what}: the connection to libvirt broke")
        return done

    def domains(self, connection: Any) -> list[Any]:
        trouble, listed = self.trouble, super().domains(connection)
        if not trouble.hidden_for:
            return listed
        for one in listed:
            trouble.born.setdefault(one.UUIDString(), trouble.now)
        return [one for one in listed if trouble.now - trouble.born[one.UUIDString()] >= trouble.hidden_for]

    def upload(self, connection: Any, volume: Any, parts: Iterator[bytes], length: int, offset: int = 0) -> None:
        if self._moves_bytes:
            return super().upload(connection, volume, parts, length, offset)
        data = b"".join(parts)
        assert len(data) == length
        with self.trouble.lock:
            before = self.trouble.uploads.get(volume.path(), b"").ljust(offset, b"\0")
            self.trouble.uploads[volume.path()] = before[:offset] + data + before[offset + length :]
        return None

    def download(self, connection: Any, volume: Any, offset: int = 0, length: int = 0) -> bytes:
        if self._moves_bytes:
            return super().download(connection, volume, offset, length)
        data = self.trouble.uploads.get(volume.path(), b"")[offset:]
        return data[:length] if length else data


@dataclass
class LibvirtHarness:
    """`section` says where; every provider of it has connections of its own."""

    image: Path
    section: Libvirt = field(default_factory=lambda: Libvirt(uri=TEST_DRIVER, pool=TEST_POOL, network="default"))
    owner: Owner = OWNER
    subnet: str = "192.0.2"
    disks_mib: tuple[int, ...] = (64, 32)
    ram_mib: int = 128
    network: Network | None = None
    trouble: Trouble = field(default_factory=Trouble)
    patience: float = 60.0
    hosts: type[TroubledHost] = TroubledHost

    def host(self) -> TroubledHost:
        return self.hosts(self.section.uri, self.trouble, moves_bytes=self.section.uri != TEST_DRIVER)

    def provider(self) -> LibvirtProvider:
        def seed(spec: MachineSpec, config: Secret | None) -> bytes:
            return seed_iso(spec.name, config, [])

        source = Source(str(self.image))
        cache = self.image.parent / "cache"
        settings = LibvirtSettings(
            self.section, seed, lambda _: source, self.network, cache, self.patience, sources=(source,)
        )
        return LibvirtProvider(self.owner, self.host(), settings)

    def spec(self, name: str, role: Role = "worker") -> MachineSpec:
        offset = (10 if role == "controlplane" else 20) + int(name.rpartition("-")[2])
        return machine_spec(
            name,
            role,
            f"{self.subnet}.{offset}",
            mac=f"52:54:00:00:01:{offset:02x}",
            cpu=1,
            ram_mib=self.ram_mib,
            disks_mib=self.disks_mib,
        )

    # Past the provider

    @cached_property
    def connection(self) -> Any:
        """Kept: the test driver forgets everything with its last connection."""
        return libvirt().open(self.section.uri)

    async def there(self) -> list[There]:
        found = []
        for one in self.connection.listAllDomains():
            domain = read(one.XMLDesc(0))
            node = domain.name.removeprefix(f"{self.owner.cluster}-")
            if domain.name != node:  # the test driver has one of its own
                found.append(There(domain.uuid, node, domain.tags, "on" if one.isActive() else "off"))
        return sorted(found, key=lambda one: one.name)

    # Resources

    async def stand(self) -> None:
        """All that machines stand on, as a plan creates it first."""
        await create_all(self.provider())

    async def resources_there(self) -> list[ResourceThere]:
        connection, there = self.connection, []
        for network in connection.listAllNetworks():
            on = f"{network.isActive()} {network.autostart()}"
            state = f"{read_network(network.XMLDesc(0))} {on}"
            there.append(ResourceThere(ResourceKey("network", network.name()), state))
        for pool in connection.listAllStoragePools():
            state = f"{pool.UUIDString()} {pool.isActive()} {pool.autostart()}"
            there.append(ResourceThere(ResourceKey("pool", pool.name()), state))
            volumes = [one.name() for one in pool.listAllVolumes()] if pool.isActive() else []
            claims = sorted(filter(lambda name: claimed(name)[0], volumes))
            images = [name for name in volumes if is_image(name)]
            there += [ResourceThere(ResourceKey("image", self.image.name), f"{name} {claims}") for name in images]
        return sorted(there, key=lambda one: one.key)

    async def drift(self, *, beyond_repair: bool) -> ResourceKey:
        network = self.connection.networkLookupByName(self.section.network)
        network.destroy()
        if beyond_repair:
            text = network.XMLDesc(0)
            assert f"{self.subnet}.1" in text
            self.connection.networkDefineXML(text.replace(f"{self.subnet}.1", f"{self.subnet}.2")).create()
        return ResourceKey("network", network.name())

    async def intrude_resource(self) -> ResourceKey:
        foreign = Network(self.section.network or "", Owner("other", "fedcba9876543210"), "nat", "198.51.100.1", 24)
        self.connection.networkDefineXML(render_network(foreign))
        return ResourceKey("network", foreign.name)

    async def share(self) -> ResourceKey:
        (image,) = [one for one in await self.provider().find_resources() if one.kind == "image"]
        pool = self.connection.storagePoolLookupByName(self.section.pool)
        pool.createXML(render_volume(Volume(claim_name(Owner("other", "fedcba9876543210"), image.id), 0)))
        return image.key

    def volumes(self) -> list[str]:
        pool = self.connection.storagePoolLookupByName(self.section.pool)
        return sorted(one.name() for one in pool.listAllVolumes())

    def clear(self) -> None:
        clear(self.connection)

    def calls(self) -> int:
        return self.trouble.calls

    async def lose_answers(self, times: int) -> None:
        self.trouble.lost = times

    async def fail_some(self, percent: float) -> None:
        self.trouble.chance = percent

    async def hide_new(self, seconds: float) -> None:
        await self.pass_time(seconds + 1)
        for one in self.connection.listAllDomains():
            self.trouble.born[one.UUIDString()] = self.trouble.now - seconds
        self.trouble.hidden_for = seconds

    async def pass_time(self, seconds: float) -> None:
        self.trouble.now += seconds

    async def intrude(self, name: str, tags: Mapping[str, str]) -> str:
        connection = self.connection
        test = connection.getType() == "TEST"
        domain = Domain(
            name=f"{self.owner.cluster}-{name}",
            uuid=str(uuid.uuid4()),
            tags=dict(tags),
            kind="test" if test else "qemu",
            arch="i686" if test else "x86_64",
            machine="" if test else "q35",
            cpu_model="",
            ram_mib=64,
            link=Link(self.section.network or "default"),
        )
        made = connection.defineXML(render(domain))
        if test:
            made.create()
        return str(made.UUIDString())


def clear(connection: Any) -> None:
    """Everything of everybody, for the next test."""
    library, real = libvirt(), connection.getType() != "TEST"
    whole = library.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA | (library.VIR_DOMAIN_UNDEFINE_NVRAM if real else 0)
    for one in connection.listAllDomains():
        if one.name() == "test":
            continue
        if one.isActive():
            one.destroy()
        one.undefineFlags(whole)
    for pool in connection.listAllStoragePools():
        if pool.isActive():
            for volume in pool.listAllVolumes():
                volume.delete()
    for thing in (*connection.listAllStoragePools(), *connection.listAllNetworks()):
        if not real and thing.name() in ("default", TEST_POOL):
            continue
        if thing.isActive():
            thing.destroy()
        thing.undefine()
