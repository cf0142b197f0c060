"""What a contract test needs of a world: machines in maintenance mode, and configs that make nodes of them.

A test that passes in one world and fails in the other has found a defect of the lab.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.emit import emit
from talosmith.desired.config.generate import Options, generate
from talosmith.desired.config.patch.apply import apply_patches, patch_from_value
from talosmith.desired.config.schema.contracts import contract_for
from talosmith.talos import AlreadyExists, EtcdMember, MaintenanceClient, TalosClient, TalosNode
from tests.loopback import free_network
from tests.real.talos.machine_config import controlplane_patches, of_its_own, patches
from tests.real.talos.patience import configured, done, eventually, refused
from tests.real.talos.releases import BEFORE, NEWEST, RELEASES, Release

Ability = Literal["a reset leaves etcd", "a reset wipes the disk"]


@dataclass
class Machine:
    name: str
    address: str
    cut_power: Callable[[], None]
    start: Callable[[], None]
    is_on: Callable[[], bool]


@dataclass
class World:
    """Machines, and one cluster's secrets to make nodes of them.

    `abilities` are what its machines do because they have disks of their own, and nodes in containers do not.
    """

    name: str
    abilities: frozenset[Ability]
    make: Callable[[int], list[Machine]]
    patches: list[dict[str, Any]]
    bundle: Bundle
    release: Release  # that its machines run
    machines: list[Machine] = field(default_factory=list)

    async def fresh(self, count: int = 1) -> list[Machine]:
        """Machines that have booted and wait for a config."""
        made = self.make(count)
        self.machines += made
        async with MaintenanceClient() as client:
            for machine in made:
                node = client.node(machine.address)
                await eventually(
                    lambda node=node: node.list("machinestatuses"),  # there may be none yet
                    lambda found: [status.spec["stage"] for status in found] == ["maintenance"],
                )
        return made

    def config(self, machine: Machine, *extra: dict[str, Any], role: Any = "controlplane") -> str:
        options = Options(
            "contract",
            f"https://{self.machines[0].address}:6443",
            self.release.kubernetes,
            f"installer:{self.release.talos}",
            contract=contract_for(self.release.talos),
            install_disk="/dev/vda",
        )
        hostname = {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "auto": "off", "hostname": machine.name}
        given = [patch_from_value(value, "contract") for value in (*self.patches, hostname, *extra)]
        return emit(apply_patches(generate(role, options, self.bundle), given))

    def labels(self, **labels: str) -> dict[str, Any]:
        """A config patch with labels of the Node object, in the form of the machines' Talos."""
        if self.release.is_split:
            return {"apiVersion": "v1alpha1", "kind": "KubeNodeConfig", "labels": labels}
        return {"machine": {"nodeLabels": labels}}

    def client(self, *roles: str) -> TalosClient:
        return TalosClient.from_bundle(self.bundle, roles=roles or ("os:admin",))


async def applied(world: World, machine: Machine, config: str | None = None, role: str = "controlplane") -> None:
    """From maintenance mode to a node that answers to its cluster's certificates."""
    async with MaintenanceClient() as maintenance, world.client() as client:
        waiting, ours = maintenance.node(machine.address), client.node(machine.address)
        await configured(waiting, ours, config or world.config(machine, role=role))


async def bootstrapped(world: World, machine: Machine) -> None:
    await applied(world, machine)
    async with world.client() as client:
        node = client.node(machine.address)
        await done(node.bootstrap, AlreadyExists)
        await joined(node, 1)


async def joined(node: TalosNode, count: int, *, local: bool = False) -> tuple[EtcdMember, ...]:
    """The members, once there are that many, and all of them vote and have told who and where they are."""

    def settled(members: tuple[EtcdMember, ...]) -> bool:
        return len(members) == count and all(
            member.hostname and member.client_urls and not member.is_learner for member in members
        )

    members: tuple[EtcdMember, ...] = await eventually(lambda: node.etcd_members(local=local, timeout=5), settled)
    return members


_WORLDS = [*(f"lab-{line}" for line in RELEASES), f"real-{NEWEST.line}"]

# Real nodes of the Talos before, too: for what its nodes answer otherwise, because real nodes take their time.
every_release = pytest.mark.parametrize("world", [*_WORLDS, f"real-{BEFORE.line}"], indirect=True)


@pytest.fixture(params=_WORLDS)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    bundle = of_its_own(request.getfixturevalue("bundle"))
    name, _, line = request.param.partition("-")
    release = RELEASES[line]
    if name == "real":
        lab = request.getfixturevalue("talos_lab")
        nodes = request.getfixturevalue("talos_nodes")

        def real(count: int) -> list[Machine]:
            return [
                Machine(node.name, node.address, node.cut_power, node.start, lambda node=node: node.running)
                for node in nodes(count, release)
            ]

        given = [*patches(lab, release), *controlplane_patches(lab, release)]
        yield World("real", frozenset(), real, given, bundle, release)
        return
    from talosmith_lab.server.lab import LabOptions, LabServer

    (tmp_path / "lab").mkdir()
    async with LabServer(tmp_path / "lab", LabOptions(clock="instant", network=free_network())) as server:
        control = server.control

        def simulated(count: int) -> list[Machine]:
            made = []
            for _ in range(count):
                name = f"m-{len(control.list_machines()) + 1}"
                control.create(name, version=release.talos)
                address = control.list_machines(name)[0]["address"]
                made.append(
                    Machine(
                        name,
                        address,
                        lambda n=name: control.power_off([n]),
                        lambda n=name: control.power_on([n]),
                        lambda n=name: control.list_machines(n)[0]["power"] == "on",
                    )
                )
            return made

        abilities: frozenset[Ability] = frozenset(("a reset leaves etcd", "a reset wipes the disk"))
        yield World("lab", abilities, simulated, [], bundle, release)


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return Bundle.generate()


__all__ = [
    "Machine",
    "TalosNode",
    "World",
    "applied",
    "bootstrapped",
    "bundle",
    "done",
    "eventually",
    "every_release",
    "joined",
    "refused",
    "world",
]
