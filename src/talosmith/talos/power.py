"""Reboot, shutdown, reset, rollback, and the upgrade of Talos before 1.13. Each returns once the node has begun."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from talosmith.errors import UsageError
from talosmith.talos.grpc.caller import NO_CHANNEL, Caller
from talosmith.talos.proto.machine_pb2 import (
    RebootRequest,
    ResetPartitionSpec,
    ResetRequest,
    RollbackRequest,
    ShutdownRequest,
    UpgradeRequest,
)
from talosmith.talos.proto.services import MachineServiceStub

_MACHINE = MachineServiceStub(NO_CHANNEL)


class RebootMode(StrEnum):
    """`DEFAULT` starts the new kernel directly where that works; `FORCE` does not stop services first."""

    DEFAULT = "default"
    POWERCYCLE = "powercycle"
    FORCE = "force"


class Wipe(StrEnum):
    """What a reset erases. `ALL` is the system disk and the user disks that are named."""

    ALL = "all"
    SYSTEM_DISK = "system-disk"
    USER_DISKS = "user-disks"


_REBOOTS = {
    RebootMode.DEFAULT: RebootRequest.DEFAULT,
    RebootMode.POWERCYCLE: RebootRequest.POWERCYCLE,
    RebootMode.FORCE: RebootRequest.FORCE,
}
_UPGRADE_REBOOTS = {RebootMode.DEFAULT: UpgradeRequest.DEFAULT, RebootMode.POWERCYCLE: UpgradeRequest.POWERCYCLE}
_WIPES = {
    Wipe.ALL: ResetRequest.ALL,
    Wipe.SYSTEM_DISK: ResetRequest.SYSTEM_DISK,
    Wipe.USER_DISKS: ResetRequest.USER_DISKS,
}


class PowerCalls(Caller):
    """The actor ids they return name the act in `events`; Talos before 1.2 gives none."""

    async def reboot(self, mode: RebootMode = RebootMode.DEFAULT) -> str:
        answered = await self._ask(_MACHINE.Reboot, RebootRequest(mode=_REBOOTS[mode]))
        return str(self._one(_MACHINE.Reboot, answered.messages).actor_id)

    async def shutdown(self, *, force: bool = False) -> str:
        """`force` does not cordon and drain first."""
        answered = await self._ask(_MACHINE.Shutdown, ShutdownRequest(force=force))
        return str(self._one(_MACHINE.Shutdown, answered.messages).actor_id)

    async def reset(
        self,
        *,
        graceful: bool = True,
        reboot: bool = False,
        partitions: Sequence[str] = (),
        user_disks: Sequence[str] = (),
        wipe: Wipe = Wipe.ALL,
    ) -> str:
        """Erases the node. Without partitions the whole system disk goes, and Talos with it.

        `graceful` drains and leaves etcd first; `partitions` are system volumes such as `STATE` and `EPHEMERAL`.
        Talos up to 1.13 refuses one without a partition of its own; 1.14 accepts it with the volume that it is on.
        """
        if partitions and wipe is Wipe.USER_DISKS:
            raise UsageError("system partitions are not wiped together with user disks only")
        if user_disks and wipe is Wipe.SYSTEM_DISK:
            raise UsageError("user disks are not wiped together with the system disk only")
        request = ResetRequest(
            graceful=graceful,
            reboot=reboot,
            system_partitions_to_wipe=[ResetPartitionSpec(label=label, wipe=True) for label in partitions],
            user_disks_to_wipe=user_disks,
            mode=_WIPES[wipe],
        )
        answered = await self._ask(_MACHINE.Reset, request, timeout=60.0)
        return str(self._one(_MACHINE.Reset, answered.messages).actor_id)

    async def rollback(self) -> None:
        """Boots the version before the last upgrade."""
        self._one(_MACHINE.Rollback, (await self._ask(_MACHINE.Rollback, RollbackRequest(), 60.0)).messages)

    async def upgrade_legacy(
        self,
        image: str,
        *,
        stage: bool = False,
        force: bool = False,
        reboot_mode: RebootMode = RebootMode.DEFAULT,
        timeout: float = 900.0,
    ) -> str:
        """The way of Talos before 1.13: the node pulls, checks etcd, installs and reboots by itself.

        Talos 1.13 and 1.14 still have it. `force` skips the node's checks of etcd.
        """
        if reboot_mode not in _UPGRADE_REBOOTS:
            raise UsageError(f"an upgrade does not know the reboot mode {reboot_mode.value}")
        # `preserve` stays unset: data is kept anyway, and all it does nowadays is to skip the checks as `force` does.
        request = UpgradeRequest(image=image, stage=stage, force=force, reboot_mode=_UPGRADE_REBOOTS[reboot_mode])
        answered = await self._ask(_MACHINE.Upgrade, request, timeout)
        return str(self._one(_MACHINE.Upgrade, answered.messages).actor_id)
