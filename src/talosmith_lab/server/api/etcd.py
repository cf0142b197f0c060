"""etcd as a node's API shows it and lets it be changed."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

from grpclib.const import Status

from talosmith.talos.proto import common_pb2
from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab import joining, snapshot
from talosmith_lab.etcd import NOT_FOUND, Cluster, EtcdError, Member
from talosmith_lab.server.methods import Call, Requests, answers, fail, need_control_plane
from talosmith_lab.services import ETCD
from talosmith_lab.versions import line_of

_CHUNK = 1024**2
_MOST = 512 * 1024**2  # of an uploaded snapshot
_EMPTY_DATABASE = 20 * 1024


@answers("machine.MachineService/Bootstrap")
def bootstrap(call: Call, request: pb.BootstrapRequest) -> pb.BootstrapResponse:
    if call.maintenance:
        raise fail(Status.FAILED_PRECONDITION, "bootstrap is not available yet")
    need_control_plane(call, "bootstrap")
    check_hash = not request.recover_skip_hash_check
    try:
        joining.bootstrap(call.world, call.machine, recover=request.recover_etcd, check_hash=check_hash)
    except joining.NotYet as refusal:
        raise fail(Status.FAILED_PRECONDITION, str(refusal)) from None
    except joining.AlreadyDone as refusal:
        raise fail(Status.ALREADY_EXISTS, str(refusal)) from None
    except snapshot.BadSnapshot as refusal:
        raise fail(Status.UNKNOWN, f"error recovering etcd: {refusal}") from None
    call.engine.commit()
    return pb.BootstrapResponse(messages=[pb.Bootstrap()])


@answers("machine.MachineService/EtcdRecover")
async def recover(call: Call, requests: Requests) -> pb.EtcdRecoverResponse:
    service = call.machine.service(ETCD)
    if service is None or call.machine.run is None:
        raise fail(Status.FAILED_PRECONDITION, "etcd service is not ready for recovery yet")
    need_control_plane(call, "etcd recover")
    content = bytearray()
    async for chunk in requests:
        content += chunk.bytes
        if len(content) > _MOST:
            raise fail(Status.RESOURCE_EXHAUSTED, "the snapshot is too large for the lab")
    digest = hashlib.sha256(content).hexdigest()
    call.world.blobs[digest] = bytes(content)
    call.machine.run.recovery = digest
    call.world.touch(call.machine)
    call.engine.commit()
    return pb.EtcdRecoverResponse(messages=[pb.EtcdRecover()])


@answers("machine.MachineService/EtcdMemberList")
async def members(call: Call, request: pb.EtcdMemberListRequest) -> pb.EtcdMemberListResponse:
    need_control_plane(call, "member list")
    cluster, member = await (_local(call) if request.query_local else _any(call))
    if not cluster.followed_by(member, call.world):
        raise fail(Status.UNAVAILABLE, "etcdserver: no leader")
    listed = [
        pb.EtcdMember(
            id=one.id,
            hostname=one.name,
            peer_urls=[one.peer_url],
            client_urls=[one.client_url] if one.client_url else [],
            is_learner=one.learner,
        )
        for one in sorted(cluster.known_to(member).members.values(), key=lambda one: one.id)
    ]
    reply = pb.EtcdMembers(legacy_members=[one.hostname for one in listed], members=listed)
    return pb.EtcdMemberListResponse(messages=[reply])


@answers("machine.MachineService/EtcdStatus")
async def status(call: Call, request: object) -> pb.EtcdStatusResponse:
    need_control_plane(call, "etcd status")
    cluster, member = await _local(call)
    view, leader = cluster.known_to(member), cluster.followed_by(member, call.world)
    version = line_of(call.machine.run.version if call.machine.run else call.machine.version).etcd
    errors = [f"memberID:{number} alarm:{alarm} " for number, alarm in sorted(cluster.alarms.items())]
    used = _EMPTY_DATABASE + view.store.size
    reply = pb.EtcdMemberStatus(
        member_id=member.id,
        protocol_version=version,
        storage_version=".".join([*version.split(".")[:2], "0"]),
        db_size=-(-used * 5 // 4 // 4096) * 4096,
        db_size_in_use=used,
        leader=leader,
        raft_index=view.index,
        raft_term=cluster.term,
        raft_applied_index=view.index,
        errors=errors if leader else [*errors, "etcdserver: no leader"],
        is_learner=member.learner,
    )
    return pb.EtcdStatusResponse(messages=[pb.EtcdStatus(member_status=reply)])


@answers("machine.MachineService/EtcdRemoveMemberByID")
async def remove(call: Call, request: pb.EtcdRemoveMemberByIDRequest) -> pb.EtcdRemoveMemberByIDResponse:
    need_control_plane(call, "etcd remove member")
    cluster, member = await _any(call)
    try:
        cluster.remove(member, request.member_id, call.world)
    except EtcdError as refusal:
        told = f"failed to remove member {request.member_id}: {refusal}"
        if str(refusal) == NOT_FOUND:
            raise fail(Status.NOT_FOUND, told) from None
        raise fail(Status.UNKNOWN, f"failed to remove member: {told}") from None
    _changed(call, cluster)
    return pb.EtcdRemoveMemberByIDResponse(messages=[pb.EtcdRemoveMemberByID()])


@answers("machine.MachineService/EtcdLeaveCluster")
async def leave(call: Call, request: object) -> pb.EtcdLeaveClusterResponse:
    need_control_plane(call, "etcd leave")
    await _local(call)
    try:
        joining.leave(call.world, call.machine)
    except EtcdError as refusal:
        raise fail(Status.UNKNOWN, f"failed to leave cluster: {refusal}") from None
    call.engine.commit()
    return pb.EtcdLeaveClusterResponse(messages=[pb.EtcdLeaveCluster()])


@answers("machine.MachineService/EtcdForfeitLeadership")
async def forfeit(call: Call, request: object) -> pb.EtcdForfeitLeadershipResponse:
    need_control_plane(call, "etcd forfeit leadership")
    cluster, member = await _local(call)
    if len(cluster.members) == 1:
        raise fail(Status.UNKNOWN, "failed to forfeit leadership: cannot forfeit leadership, only one member")
    if not cluster.followed_by(member, call.world):
        raise fail(Status.UNAVAILABLE, "etcdserver: no leader")
    name = ""
    if cluster.leader == member.id:
        others = [one for one in cluster.can_lead(call.world) if one.id != member.id]
        if not others:
            raise fail(Status.UNKNOWN, "failed to forfeit leadership: etcdserver: unhealthy cluster")
        cluster.move_leader(others[0].id, call.world)
        name = others[0].name
        _changed(call, cluster)
    return pb.EtcdForfeitLeadershipResponse(messages=[pb.EtcdForfeitLeadership(member=name)])


@answers("machine.MachineService/EtcdSnapshot")
async def take_snapshot(call: Call, request: object) -> AsyncIterator[common_pb2.Data]:
    need_control_plane(call, "etcd snapshot")
    cluster, member = await _local(call)
    view = cluster.known_to(member)
    listed = [(one.id, one.name, one.peer_url) for one in view.members.values()]
    content = snapshot.write(view.store, index=view.index, term=cluster.term, members=listed)
    for start in range(0, len(content), _CHUNK):
        yield common_pb2.Data(bytes=content[start : start + _CHUNK])


@answers("machine.MachineService/EtcdAlarmList")
async def alarms(call: Call, request: object) -> pb.EtcdAlarmListResponse:
    need_control_plane(call, "etcd alarm list")
    cluster, _ = await _local(call)
    listed = [pb.EtcdMemberAlarm(member_id=number, alarm=alarm) for number, alarm in sorted(cluster.alarms.items())]
    return pb.EtcdAlarmListResponse(messages=[pb.EtcdAlarm(member_alarms=listed)])


@answers("machine.MachineService/EtcdAlarmDisarm")
async def disarm(call: Call, request: object) -> pb.EtcdAlarmDisarmResponse:
    need_control_plane(call, "etcd alarm disarm")
    cluster, member = await _local(call)
    try:
        gone = cluster.disarm(member, call.world)
    except EtcdError as refusal:
        raise fail(Status.UNKNOWN, f"failed to disarm etcd alarm: {refusal}") from None
    _changed(call, cluster)
    listed = [pb.EtcdMemberAlarm(member_id=number, alarm=alarm) for number, alarm in gone]
    return pb.EtcdAlarmDisarmResponse(messages=[pb.EtcdAlarmDisarm(member_alarms=listed)])


@answers("machine.MachineService/EtcdDefragment")
async def defragment(call: Call, request: object) -> pb.EtcdDefragmentResponse:
    need_control_plane(call, "etcd defragment")
    await _local(call)
    return pb.EtcdDefragmentResponse(messages=[pb.EtcdDefragment()])


def _changed(call: Call, cluster: Cluster) -> None:
    call.world.touch_cluster(cluster.uid)
    call.engine.commit()


async def _local(call: Call) -> tuple[Cluster, Member]:
    """The node's own etcd. One that does not run is waited for: Talos does not tell, its clients give up some day."""
    while True:
        cluster = call.world.etcd_of(call.machine)
        member = cluster.find(call.machine.name) if cluster else None
        if cluster is not None and member is not None and call.world.runs(call.machine.name, cluster.uid):
            return cluster, member
        await call.engine.changed(call.machine.name)


async def _any(call: Call) -> tuple[Cluster, Member]:
    """An etcd that the node reaches among the control planes: its own, or one that has a leader."""
    config = call.world.config(call.machine)
    own = call.world.etcd_of(call.machine)
    clusters = [own] if own else []
    clusters += [one for one in call.world.clusters.values() if config and one.talos_id == config.cluster_id]
    for cluster in clusters:
        near = [one for one in cluster.members.values() if call.world.talk(call.machine.name, one.machine)]
        for member in sorted(near, key=lambda one: one.machine != call.machine.name):
            if cluster.followed_by(member, call.world):
                return cluster, member
    return await _local(call)
