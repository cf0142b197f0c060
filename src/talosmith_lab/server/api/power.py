"""Reboot, shutdown, reset, upgrade, rollback: each begins a sequence and answers at once."""

from __future__ import annotations

from grpclib.const import Status

from talosmith.model.versions import Version
from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab import quorum, versions
from talosmith_lab.installing import NO_SPACE
from talosmith_lab.machine import Machine
from talosmith_lab.resources.node import system_volumes
from talosmith_lab.sequences import request as begin
from talosmith_lab.server.methods import Call, answers, fail

_PARTITIONS = ("STATE", "EPHEMERAL", "META")
_WIPES_TOGETHER = (1, 14)  # the first line that wipes a volume with the one that it is on


@answers("machine.MachineService/Reboot")
def reboot(call: Call, request: pb.RebootRequest) -> pb.RebootResponse:
    actor = begin(call.world, call.machine, "reboot")
    call.engine.commit()
    return pb.RebootResponse(messages=[pb.Reboot(actor_id=actor)])


@answers("machine.MachineService/Shutdown")
def shutdown(call: Call, request: pb.ShutdownRequest) -> pb.ShutdownResponse:
    actor = begin(call.world, call.machine, "shutdown", takeover=True, drain=not request.force)
    call.engine.commit()
    return pb.ShutdownResponse(messages=[pb.Shutdown(actor_id=actor)])


@answers("machine.MachineService/Reset")
def reset(call: Call, request: pb.ResetRequest) -> pb.ResetResponse:
    machine, config = call.machine, call.world.config(call.machine)
    modes = pb.ResetRequest.WipeMode
    _check_disks(machine, request)
    partitions = [one.label for one in request.system_partitions_to_wipe if one.wipe]
    _check_partitions(machine, partitions)
    actor = begin(
        call.world,
        machine,
        "reset",
        drain=request.graceful,
        leave=request.graceful and config is not None and config.is_controlplane,
        reboot=request.reboot,
        partitions=partitions if request.mode != modes.USER_DISKS else [],
        system=not request.system_partitions_to_wipe and request.mode != modes.USER_DISKS,
        user_disks=list(request.user_disks_to_wipe) if request.mode != modes.SYSTEM_DISK else [],
    )
    call.engine.commit()
    return pb.ResetResponse(messages=[pb.Reset(actor_id=actor)])


@answers("machine.MachineService/Upgrade")
def upgrade(call: Call, request: pb.UpgradeRequest) -> pb.UpgradeResponse:
    """The way before 1.13, which looks at etcd first."""
    machine = call.machine
    if machine.system is None or machine.run is None:
        raise fail(Status.FAILED_PRECONDITION, "Talos is not installed")
    try:
        version = versions.version_in(request.image)
    except ValueError as error:
        raise fail(Status.UNKNOWN, f"error validating installer image {request.image!r}: {error}") from None
    if call.world.active("full-disk", machine.name):
        raise fail(Status.UNKNOWN, f"error validating installer image {request.image!r}: {NO_SPACE}")
    why = versions.refusal(version, machine.run.version)
    if why:
        raise fail(Status.UNKNOWN, f"error validating installer image {request.image!r}: {why}")
    if not request.force:
        _check_etcd(call)
    if request.stage:
        machine.system.staged_image = request.image
        actor = begin(call.world, machine, "stageUpgrade")
    else:
        actor = begin(call.world, machine, "upgrade", image=request.image, drain=True)
    call.engine.commit()
    return pb.UpgradeResponse(messages=[pb.Upgrade(ack="Upgrade request received", actor_id=actor)])


@answers("machine.MachineService/Rollback")
def rollback(call: Call, request: pb.RollbackRequest) -> pb.RollbackResponse:
    system = call.machine.system
    if system is None:
        raise fail(Status.FAILED_PRECONDITION, "system disk not found")
    other = "B" if system.default == "A" else "A"
    if other not in system.slots:
        raise fail(Status.UNKNOWN, "cannot rollback to a previous version, the previous entry doesn't exist")
    system.default, system.fallback = other, ""
    begin(call.world, call.machine, "reboot", takeover=True)
    call.engine.commit()
    return pb.RollbackResponse(messages=[pb.Rollback()])


def _check_disks(machine: Machine, request: pb.ResetRequest) -> None:
    modes = pb.ResetRequest.WipeMode
    if request.user_disks_to_wipe and request.mode == modes.SYSTEM_DISK:
        raise fail(
            Status.UNKNOWN,
            "reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter",
        )
    if request.system_partitions_to_wipe and request.mode == modes.USER_DISKS:
        raise fail(
            Status.UNKNOWN,
            "reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe parameter",
        )
    known = {disk.device for disk in machine.disks}
    for device in request.user_disks_to_wipe:
        if device not in known:
            raise fail(Status.UNKNOWN, f"reset user disk failed: device {device} wasn't found")
        if machine.system is not None and machine.system.device == device:
            raise fail(Status.UNKNOWN, f"reset user disk failed: device {device} is the system disk")


def _check_partitions(machine: Machine, labels: list[str]) -> None:
    version = machine.run.version if machine.run else machine.version
    own = machine.system.volumes or [] if machine.system is not None else []
    for label in labels:
        if label in (*_PARTITIONS, *own):
            continue
        if label not in system_volumes(version):
            missing = f"resource VolumeStatuses.block.talos.dev(runtime/{label}@undefined) doesn't exist"
            raise fail(Status.UNKNOWN, f'failed to get volume status with label "{label}": {missing}')
        if Version.parse(version).line < _WIPES_TOGETHER:
            raise fail(Status.UNKNOWN, f'failed to reset: volume "{label}" is not located')
        if "EPHEMERAL" not in labels:
            raise fail(
                Status.UNKNOWN,
                f'failed to reset: volume "{label}" resides on volume "EPHEMERAL", and therefore "{label}" cannot be '
                'wiped without wiping "EPHEMERAL"',
            )


def _check_etcd(call: Call) -> None:
    """All members are there and well, and there are not two of them."""
    config, cluster = call.world.config(call.machine), call.world.etcd_of(call.machine)
    if config is None or not config.is_controlplane or cluster is None:
        return
    problem = ""
    if len(cluster.members) == 2:
        problem = "etcd has only 2 members, upgrade will cause quorum loss"
    for member in cluster.members.values():
        machine = call.world.machines.get(member.machine)
        if not member.name or machine is None or not quorum.follows(call.world, machine):
            problem = f"etcd member {member.id:x} is not healthy"
    if problem:
        raise fail(Status.UNKNOWN, f"error validating etcd for upgrade: {problem}")
