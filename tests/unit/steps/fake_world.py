"""A world for steps, small enough to be seen through: machines, Talos nodes, etcd and Kubernetes as plain data.

It has only the calls that steps make; any other is an AttributeError. Each change is written down by the name that
steps declare it with (`cp-1 talos:Reboot`), may be refused, or carried out while its answer gets lost, and is wrong
unless the lock was checked before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from talosmith.errors import Permanent
from talosmith.model.machines import Machine, MachineSpec
from talosmith.model.secret import Secret
from talosmith.steps.context import Context, RunOptions
from tests.plans.plan_worlds import desired
from tests.unit.steps.fake_talos import FakeTalos

T = TypeVar("T")


@dataclass
class Box:
    """A machine and the node on it. `coming`: stages that it passes, one a look, before the one it stays in."""

    name: str
    role: str
    address: str
    stage: str = "maintenance"  # off, maintenance, stranger, or a stage of Talos
    coming: list[str] = field(default_factory=list)
    running: str = ""  # configs: in use, and kept for the next boot
    kept: str = ""
    boots: int = 1
    data: bool = False  # in etcd's directory
    sick: bool = False  # its etcd
    api: str = ""  # why its Kubernetes API is not ready
    unmet: tuple[tuple[str, str], ...] = ()
    static_pods: list[Any] = field(default_factory=list)
    volumes: dict[str, str] = field(default_factory=dict)  # with partitions of their own
    installation: list[dict[str, str]] = field(default_factory=list)  # its status, a look each; the last stays
    disks: tuple[dict[str, Any], ...] = ()

    @property
    def fingerprint(self) -> str:
        return f"boot{self.boots}of{self.name}"

    def next_stage(self) -> str:
        if self.coming:
            self.stage = self.coming.pop(0)
        return self.stage


class Provider:
    """Only what every provider can do."""

    name, seeds, creates, simulated = "fake", False, True, True

    def __init__(self, world: World) -> None:
        self.world = world
        self.machines: dict[str, Machine] = {}

    async def find(self) -> list[Machine]:
        return list(self.machines.values())

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        def make() -> Machine:
            box = self.world.boxes[spec.name]
            made = self.machines.setdefault(spec.name, self.world.machine(spec.name))
            box.stage = "running" if seed else "maintenance"
            box.running = box.kept = seed.reveal() if seed else ""
            return made

        return await self.world.act(f"{spec.name} machine:create", make)

    async def destroy(self, machine: Machine) -> None:
        await self.world.act(f"{machine.name} machine:destroy", lambda: self.machines.pop(machine.name, None))

    async def power(self, machine: Machine, on: bool) -> None:
        def switch() -> None:
            self.machines[machine.name] = replace(machine, power="on" if on else "off")
            self.world.boxes[machine.name].stage = "running" if on else "off"

        await self.world.act(f"{machine.name} machine:power", switch)


class AbleProvider(Provider):
    """With every ability that some have."""

    async def resize(self, machine: Machine, spec: MachineSpec) -> Machine:
        def change() -> Machine:
            new = replace(machine, cpu=spec.cpu, ram_mib=spec.ram_mib, disks_mib=spec.disks_mib)
            self.machines[machine.name] = new
            return new

        return await self.world.act(f"{machine.name} machine:resize", change)

    async def forget_seed(self, machine: Machine) -> bool:
        def forget() -> bool:
            had = self.machines[machine.name].seeded
            self.machines[machine.name] = replace(machine, seeded=False)
            return had

        return await self.world.act(f"{machine.name} machine:forget-seed", forget)

    async def console(self, machine: Machine, lines: int = 50) -> str:
        return "[talos] no disks found"


class World:
    def __init__(self, folder: Path, controlplane: int, workers: int, provider: type[Provider]) -> None:
        self.folder = folder
        self.desired = wanted = desired({"controlplane": controlplane, "workers": workers})
        self.boxes = {name: Box(name, node.node.role, str(node.node.ip)) for name, node in wanted.nodes.items()}
        self.provider = provider(self)
        self.members: dict[int, str] = {}  # of etcd
        self.learners: set[str] = set()
        self.nodes: dict[str, dict[str, Any]] = {}  # of Kubernetes, as plain objects
        self.pods: list[dict[str, Any]] = []
        self.protected: set[str] = set()  # pods that may not be evicted
        self.log: list[str] = []
        self.told: list[str] = []
        self.stopping = False
        self.locked_out = False
        self._checked = False
        self._faults: dict[str, list[tuple[Exception, bool]]] = {}

    # What a test says about the world

    def refuses(self, call: str, error: Exception) -> None:
        """The next such call is refused, and has no effect."""
        self._faults.setdefault(call, []).append((error, False))

    def loses_answer(self, call: str, error: Exception) -> None:
        """The next such call is carried out, and its answer is lost."""
        self._faults.setdefault(call, []).append((error, True))

    def runs(self, *names: str) -> None:
        """These nodes have their config and are ready; control planes have etcd, and Kubernetes has all of them."""
        for name in names or tuple(self.boxes):
            box, node = self.boxes[name], self.desired.nodes[name]
            box.stage, box.running, box.kept = "running", node.config.reveal(), node.config.reveal()
            self.provider.machines[name] = self.machine(name)
            self.nodes[name] = {"metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "spec": {}}
            if box.role == "controlplane":
                box.data = True
                self.members[len(self.members) + 1] = name

    def machine(self, name: str) -> Machine:
        box = self.boxes[name]
        spec = self.desired.nodes[name].machine if name in self.desired.nodes else None
        return Machine(
            id=name,
            name=name,
            role=cast(Any, box.role),
            power="on",
            addresses=(box.address,),
            fingerprint=box.fingerprint,
            cpu=spec.cpu if spec else None,
            ram_mib=spec.ram_mib if spec else None,
            disks_mib=spec.disks_mib if spec else (),
        )

    # What the fakes say to it

    def at(self, address: str) -> Box:
        return next(box for box in self.boxes.values() if box.address == address)

    async def act(self, call: str, effect: Callable[[], T], *, each_checked: bool = True) -> T:
        assert self._checked, f"{call} without a look at the lock"
        self._checked = not each_checked
        self.log.append(call)
        faults = self._faults.get(call)
        error, carried_out = faults.pop(0) if faults else (None, True)
        if error is not None and not carried_out:
            raise error
        result = effect()
        if error is not None:
            raise error
        return result

    def check_lock(self) -> None:
        if self.locked_out:
            raise Permanent("the lock is held by another run")
        self._checked = True

    def report(self, text: str, hint: str = "", *, phase: str = "") -> None:
        self.told.append(text)

    def context(self, **options: Any) -> Context:
        return Context(
            desired=self.desired,
            provider=cast(Any, self.provider),
            talos=cast(Any, FakeTalos(self, maintenance=False)),
            maintenance=cast(Any, FakeTalos(self, maintenance=True)),
            options=RunOptions(folder=self.folder, **options),
            check_lock=self.check_lock,
            note=self.told.append,
            stop_wanted=lambda: self.stopping,
            machines=dict(self.provider.machines),
        )
