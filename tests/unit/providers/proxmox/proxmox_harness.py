"""A provider of Proxmox VE in front of the simulator, for the contracts and for tests of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from talosmith.desired.outputs import seed_iso
from talosmith.model.cluster import Role
from talosmith.model.machines import CLUSTER_TAG, ID_TAG, NODE_TAG, ROLE_TAG, MachineSpec, Owner
from talosmith.model.providers import Proxmox as Section
from talosmith.model.resources import ResourceKey
from talosmith.model.secret import Secret
from talosmith.providers.images import Source
from talosmith.providers.proxmox import ProxmoxProvider, tasks
from talosmith.providers.proxmox.client import ProxmoxClient, Token
from talosmith.providers.proxmox.settings import Boot, ProxmoxSettings
from talosmith.providers.proxmox.trust import Trust
from talosmith.providers.proxmox.volumes import claim_file, image_file
from tests.machine_specs import machine_spec
from tests.provider_contract import There
from tests.resource_contract import ResourceThere
from tests.simulators.proxmox import Proxmox, Server, serving
from tests.simulators.proxmox.faults import Rule

tasks._SOON = 0.01  # those of the simulator end within milliseconds
OWNER = Owner("tested", "0123456789abcdef")
ISO = "local:iso/talos.iso"
QEMU = "/nodes/pve/qemu"
MANY = 1000  # times: a fault that does not end
_WORDS = {CLUSTER_TAG: "cluster", ID_TAG: "id", NODE_TAG: "node", ROLE_TAG: "role"}


def spec_of(name: str, role: Role = "worker", **settings: Any) -> MachineSpec:
    number = int(name.rpartition("-")[2])
    offset = (10 if role == "controlplane" else 100) + number
    vmid = (2000 if role == "controlplane" else 3000) + number - 1
    return machine_spec(
        name, role, str(ip_address("127.99.99.0") + offset), mac=f"52:54:00:00:00:{offset:02x}", vmid=vmid,
        **{"cpu": 3, "ram_mib": 3072, "disks_mib": (10240, 5120), **settings},
    )  # fmt: skip


NODES = {spec.name: spec for spec in (spec_of("cp-1", "controlplane"), *(spec_of(f"w-{n}") for n in range(1, 31)))}


@dataclass
class ProxmoxHarness:
    world: Proxmox
    server: Server
    folder: Path
    boot: Boot = field(default_factory=lambda: Boot("iso", volume=ISO))
    owner: Owner = OWNER
    token: str = "root"
    nodes: Mapping[str, MachineSpec] = field(default_factory=lambda: NODES)
    options: Mapping[str, Any] = field(default_factory=dict)
    trust: Trust | None = None  # the server's certificate is pinned if left out

    def __post_init__(self) -> None:
        if self.boot.volume == ISO:
            self.world.add_volume(ISO, content=b"boots")
        self.world.calls.clear()

    @property
    def section(self) -> Section:
        return Section(**{"node": "pve", "datastore": "local", **self.options})

    def client(self) -> ProxmoxClient:
        name, secret = self.world.tokens[self.token]
        pinned = self.server.fingerprint.replace(":", "").lower()
        return ProxmoxClient(self.server.url, Token(name, Secret(secret)), self.trust or Trust(pinned))

    def settings(self) -> ProxmoxSettings:
        def seed(spec: MachineSpec, config: Secret | None) -> bytes:
            return seed_iso(spec.name, config, [])

        return ProxmoxSettings(
            section=self.section,
            specs=self.nodes,
            seed=seed,
            boot=lambda spec: self.boot,
            cache=self.folder,
            patience=2.0,
            vmids={spec.node.vmid or 0: name for name, spec in self.nodes.items()},
        )

    def provider(self) -> ProxmoxProvider:
        return ProxmoxProvider(self.owner, self.client(), self.settings())

    def spec(self, name: str, role: Role = "worker") -> MachineSpec:
        return self.nodes.get(name) or spec_of(name, role)

    async def there(self) -> list[There]:
        """When what was begun is done."""
        self.world.settle()
        found = []
        for vm in sorted(self.world.vms.values(), key=lambda one: one.vmid):
            if not vm.template:
                node, tags = _tags(str(vm.config.get("description", "")))
                uuid = str(vm.config.get("smbios1", "uuid=")).partition("uuid=")[2]
                power = "on" if vm.status == "running" else "off"
                found.append(There(f"{vm.vmid}/{uuid}", node or str(vm.config.get("name")), tags, power))
        return found

    def calls(self) -> int:
        return len(self.world.calls)

    def changes(self) -> list[tuple[str, str]]:
        """The calls so far that are not just reading: method and path."""
        return [(method, path) for method, path, _ in self.world.calls if method != "GET"]

    def state(self) -> str:
        """Everything in the simulated cluster that a call can change, as text."""
        world = self.world
        vms = [
            (vm.vmid, vm.node, vm.status, sorted(vm.config.items()), sorted(vm.pending.items()), vm.pending_delete)
            for vm in world.vms.values()
        ]
        volumes = sorted((volume.volid, volume.node, volume.size) for volume in world.volumes.values())
        pools = [(pool.id, sorted(pool.vms)) for pool in world.pools.values()]
        return repr((vms, volumes, pools, world.access.acls, sorted(world.ha), list(world.tasks.all)))

    async def lose_answers(self, times: int) -> None:
        self.world.faults.clear()
        if times:
            self.world.faults.lose_answers(times, method="POST", path="/nodes/*/qemu")
            self.world.faults.lose_answers(times, method="POST", path="/nodes/*/qemu/*/clone")
            self.world.faults.lose_answers(times, method="DELETE", path="/nodes/*/qemu/*")

    async def fail_some(self, percent: float) -> None:
        self.world.faults.clear()
        if percent:
            self.world.faults.fail_percent(percent)

    async def hide_new(self, seconds: float) -> None:
        """VMs without a seed: with one, a VM is found by its seed."""
        await self.pass_time(seconds + 1)
        self.options = {**self.options, "seed": False}
        self.world.list_delay = seconds

    async def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    async def intrude(self, name: str, tags: Mapping[str, str]) -> str:
        spec = self.spec(name)
        vmid = spec.node.vmid or 0
        words = " ".join(f"{_WORDS[tag]}={value}" for tag, value in tags.items())
        description = f"talosmith machine {words} vmid={vmid}\n" if tags else "somebody else's"
        id_tag = f";talosmith-{tags[ID_TAG]}" if ID_TAG in tags else ""
        vm = self.world.add_vm(vmid, name, tags=f"talosmith{id_tag}" if tags else "", description=description)
        return f"{vmid}/{str(vm.config.get('smbios1', 'uuid=')).partition('uuid=')[2]}"

    # Resources

    async def resources_there(self) -> list[ResourceThere]:
        self.world.settle()
        found = []
        for volume in self.world.volumes.values():
            name = volume.volid.rpartition("/")[2]
            if name.startswith("talosmith-image-"):
                label = name.removeprefix("talosmith-image-").rpartition(".")[0]
                claims = sorted(one for one in self.world.volumes if f"-claim-{name}" in one)
                found.append(ResourceThere(ResourceKey("image", f"{label}@pve"), f"{volume.size} {claims}"))
        for vm in self.world.vms.values():
            if vm.template or "talosmith template" in str(vm.config.get("description", "")):
                state = {key: value for key, value in vm.config.items() if key not in ("digest", "meta")}
                found.append(ResourceThere(ResourceKey("template", self._image_of(vm)), repr(sorted(state.items()))))
        return sorted(found, key=lambda one: one.key)

    def _image_of(self, vm: Any) -> str:
        words = dict(word.partition("=")[::2] for word in str(vm.config.get("description", "")).split())
        return f"{words.get('image', vm.config.get('name'))}@{vm.node}"

    async def drift(self, *, beyond_repair: bool) -> ResourceKey:
        assert self.boot.source is not None
        if beyond_repair:
            (vm,) = [vm for vm in self.world.vms.values() if vm.template]
            vm.config["scsi0"] = str(vm.config["scsi0"]).replace("local:", "second:", 1)
            return ResourceKey("template", f"{self.boot.source.name}@pve")
        self.world.volumes.drop(self.world.volumes[f"local:import/{image_file(self.boot.source)}"])
        return ResourceKey("image", f"{self.boot.source.name}@pve")

    async def intrude_resource(self) -> ResourceKey:
        assert self.boot.source is not None
        from talosmith.providers.proxmox.templates import template_name

        self.world.add_vm(500, template_name(self.boot.source.name))
        return ResourceKey("template", f"{self.boot.source.name}@pve")

    async def share(self) -> ResourceKey:
        assert self.boot.source is not None
        other = Owner("other", "fedcba9876543210")
        self.world.add_volume(f"local:iso/{claim_file(other, image_file(self.boot.source))}", content=b"claims")
        return ResourceKey("image", f"{self.boot.source.name}@pve")


@contextmanager
def proxmox(folder: Path, world: Proxmox | None = None, **settings: Any) -> Iterator[ProxmoxHarness]:
    """A harness in front of a world; of a new one if none is given."""
    world = world or Proxmox()
    with serving(world) as server:
        yield ProxmoxHarness(world, server, folder, **settings)


class AtChange(Rule):
    """Strikes at the n-th call that changes something."""

    left: int
    struck: Callable[[], None]

    def matches(self, method: str, path: str) -> bool:
        if method == "GET":
            return False
        self.left -= 1
        if self.left == 0:
            self.struck()
        return self.left == 0


def _tags(description: str) -> tuple[str, dict[str, str]]:
    for line in description.splitlines():
        if line.startswith("talosmith machine "):
            words = dict(word.partition("=")[::2] for word in line.split())
            return words.get("node", ""), {tag: words[word] for tag, word in _WORDS.items() if word in words}
    return "", {}


def disk_image(folder: Path) -> Source:
    """A raw disk image of this computer, mostly zeros."""
    file = folder / "talos.raw"
    file.write_bytes(b"boots".ljust(512, b"\1") + bytes(1024 * 1024))
    label = f"talos-{hashlib.sha256(file.read_bytes()).hexdigest()[:8]}"
    return Source(str(file), label=label, setting="proxmox.image")
