"""Talos nodes as steps see them: in maintenance mode, or with a config."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from talosmith.model.secret import Secret
from talosmith.observed.etcd import DATA
from talosmith.talos import (
    AlreadyExists,
    ApplyMode,
    EtcdMember,
    EtcdStatus,
    InMaintenance,
    MachineStatus,
    NotFound,
    NotInMaintenance,
    NotTrusted,
    Service,
    Unmet,
    Unreachable,
    Volume,
)

if TYPE_CHECKING:
    from tests.unit.steps.fake_world import Box, World

UNCONFIGURED = ("off", "maintenance", "stranger")


class FakeTalos:
    """A client: of nodes with a config, or of machines in maintenance mode."""

    def __init__(self, world: World, *, maintenance: bool) -> None:
        self._world = world
        self._maintenance = maintenance
        self.forgotten: list[str] = []
        self.credentials: Any = None

    def node(self, address: str, name: str, *, fingerprint: str = "") -> FakeNode:
        box = self._world.at(address)
        if self._maintenance:
            return MaintenanceNode(self._world, box, name, fingerprint)
        return FakeNode(self._world, box, name)

    async def forget(self, address: str) -> None:
        self.forgotten.append(address)

    def exchange(self, credentials: Any) -> None:
        self.credentials = credentials


class FakeNode:
    """A node with a config; who answers in its place is told by the error of every call."""

    def __init__(self, world: World, box: Box, name: str) -> None:
        self.name = name
        self.address = box.address
        self._world = world
        self._box = box

    def _box_now(self) -> Box:
        stage = self._box.next_stage() if self._box.stage == "off" else self._box.stage
        if stage == "off":
            raise Unreachable(self.name, "connection refused")
        if stage == "maintenance":
            raise InMaintenance(self.name, "is in maintenance mode", said=self._box.fingerprint)
        if stage == "stranger":
            raise NotTrusted(self.name, "shows a certificate that was not signed by this cluster's CA")
        return self._box

    async def _change(self, call: str, effect: Any) -> Any:
        self._box_now()
        return await self._world.act(f"{self.name} talos:{call}", effect)

    async def version(self, *, timeout: float | None = None) -> Any:
        self._box_now()
        return SimpleNamespace(mode="metal")

    async def close(self) -> None: ...

    async def get(self, kind: str, id: str) -> Any:  # noqa: A002
        """Only the status of an installation; `Box.installation` has what is answered, call by call."""
        box = self._box_now()
        if kind != "unattendedinstallstatuses" or not box.installation:
            raise NotFound(self.name, f"{kind} {id} doesn't exist")
        return SimpleNamespace(spec=box.installation.pop(0) if len(box.installation) > 1 else box.installation[0])

    # Config and power

    async def machine_config(self, *, persistent: bool = False) -> Secret:
        box = self._box_now()
        return Secret(box.kept if persistent else box.running)

    async def apply_config(self, config: Secret, mode: ApplyMode = ApplyMode.AUTO, **options: Any) -> None:
        def apply() -> None:
            if mode is not ApplyMode.TRY:
                self._box.kept = config.reveal()
            if mode is not ApplyMode.STAGED:
                self._box.running = config.reveal()

        await self._change(f"ApplyConfiguration {mode.value}", apply)

    async def boot_id(self) -> str:
        return str(self._box_now().boots)

    async def reboot(self) -> None:
        def boot() -> None:
            self._box.boots += 1
            self._box.running = self._box.kept
            self._box.stage, self._box.coming = "off", ["off", "booting", "running"]

        await self._change("Reboot", boot)

    async def reset(self, *, graceful: bool, reboot: bool, partitions: tuple[str, ...]) -> None:
        assert (graceful, reboot) == (False, True)

        def erase() -> None:
            self._box.running = self._box.kept = ""
            self._box.data = False
            self._box.boots += 1
            self._box.stage, self._box.coming = "off", ["off", "maintenance"]

        await self._change(f"Reset {'+'.join(partitions)}", erase)

    async def machine_status(self) -> MachineStatus:
        box = self._box_now()
        stage = box.next_stage()
        return MachineStatus(stage, not box.unmet, tuple(Unmet(*one) for one in box.unmet))

    async def watch_machine_status(self) -> AsyncGenerator[MachineStatus, None]:
        while True:
            yield await self.machine_status()
            if not self._box.coming:
                return

    async def kubeconfig(self) -> Secret:
        self._box_now()
        return Secret(f"from {self.name}")

    # etcd

    async def services(self) -> tuple[Service, ...]:
        box = self._box_now()
        state = "Running" if box.name in self._world.members.values() else "Preparing"
        return (Service("etcd", state, not box.sick, "unhealthy" if box.sick else "", ()),)

    async def list_files(self, path: str, **options: Any) -> AsyncIterator[Any]:
        assert path == DATA
        for name in (DATA, *([f"{DATA}/member"] if self._box_now().data else ())):
            yield SimpleNamespace(path=name, error="")

    async def etcd_members(self, **options: Any) -> tuple[EtcdMember, ...]:
        self._box_now()
        learners, members = self._world.learners, self._world.members
        return tuple(EtcdMember(number, name, (), (), name in learners) for number, name in members.items())

    async def etcd_status(self, **options: Any) -> EtcdStatus:
        own = next(number for number, name in self._world.members.items() if name == self._box_now().name)
        return EtcdStatus(own, 1, False, "3.6", "", 0, 0, 0, 0, 0, ())

    async def etcd_alarms(self) -> tuple[Any, ...]:
        return ()

    async def bootstrap(self) -> None:
        def start() -> None:
            if self._box.data:
                raise AlreadyExists(self.name, "etcd data directory is not empty")
            self._box.data = True
            self._world.members[1] = self.name

        await self._change("Bootstrap", start)

    async def etcd_forfeit(self) -> None:
        await self._change("EtcdForfeitLeadership", lambda: None)

    async def etcd_leave(self) -> None:
        await self._change("EtcdLeaveCluster", lambda: self._drop(self.name))

    async def etcd_remove(self, member: int) -> None:
        def remove() -> None:
            if self._world.members.pop(member, None) is None:
                raise NotFound(self.name, "member not found")

        await self._change(f"EtcdRemoveMemberByID {member}", remove)

    def _drop(self, name: str) -> None:
        for number in [number for number, one in self._world.members.items() if one == name]:
            del self._world.members[number]

    # Resources

    async def list(self, kind: str) -> list[Any]:
        if kind == "staticpods":
            return [SimpleNamespace(spec=one) for one in self._box_now().static_pods]
        if kind == "disks":
            return [SimpleNamespace(spec=one) for one in self._box_now().disks]
        raise AssertionError(kind)

    async def nodename(self) -> str:
        return self._box_now().name

    async def volumes(self) -> tuple[Volume, ...]:
        box = self._box_now()
        devices = {"STATE": "/dev/vda3", "EPHEMERAL": "/dev/vda4", "ETCD": "", "LOG": "", **box.volumes}
        return tuple(
            Volume(name, "partition" if device else "directory", "ready", device) for name, device in devices.items()
        )


class MaintenanceNode(FakeNode):
    """A machine without a config, known by its fingerprint alone."""

    def __init__(self, world: World, box: Box, name: str, fingerprint: str) -> None:
        super().__init__(world, box, name)
        self._expected = fingerprint

    def _box_now(self) -> Box:
        if self._box.stage == "off":
            raise Unreachable(self.name, "connection refused")
        if self._box.stage not in UNCONFIGURED:
            raise NotInMaintenance(self.name, "asks for a client certificate")
        if self._box.stage == "stranger" or self._expected not in ("", self._box.fingerprint):
            raise NotTrusted(self.name, f"shows the fingerprint {self._box.fingerprint}")
        return self._box

    async def connect(self) -> None:
        self._box_now()

    async def fingerprint(self) -> str:
        return self._box_now().fingerprint

    async def apply_config(self, config: Secret, mode: ApplyMode = ApplyMode.AUTO, **options: Any) -> None:
        def apply() -> None:
            self._box.running = self._box.kept = config.reveal()
            self._box.stage, self._box.coming = "installing", [*self._box.coming, "booting", "running"]

        await self._change("ApplyConfiguration auto", apply)

    async def list(self, kind: str) -> list[Any]:
        assert kind == "disks"
        return [SimpleNamespace(spec={"dev_path": "/dev/vda", "pretty_size": "10 GB"})]

    async def system_disk(self) -> str:
        raise NotFound(self.name, "no system disk")
