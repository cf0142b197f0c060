"""etcd as one control plane sees it: who is a member, how it fares, and taking members and backups out."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.empty_pb2 import Empty

from talosmith.talos.grpc.caller import NO_CHANNEL, Caller
from talosmith.talos.proto.common_pb2 import Data
from talosmith.talos.proto.machine_pb2 import (
    EtcdForfeitLeadershipRequest,
    EtcdLeaveClusterRequest,
    EtcdMemberAlarm,
    EtcdMemberListRequest,
    EtcdRemoveMemberByIDRequest,
    EtcdSnapshotRequest,
)
from talosmith.talos.proto.services import MachineServiceStub
from talosmith.talos.snapshot import Snapshot, SnapshotWriter

_MACHINE = MachineServiceStub(NO_CHANNEL)
_LEAVING = 360.0  # a node keeps trying for five minutes
_TRANSFER = 1800.0
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class EtcdMember:
    """`hostname` is empty until the member has started for the first time."""

    id: int
    hostname: str
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]
    is_learner: bool

    @property
    def hex_id(self) -> str:
        """As etcd and talosctl print it."""
        return f"{self.id:016x}"


@dataclass(frozen=True, slots=True)
class EtcdStatus:
    """Of the member on the node that was asked. `leader` is 0 when there is none."""

    member_id: int
    leader: int
    is_learner: bool
    version: str
    storage_version: str
    db_size: int
    db_size_in_use: int
    raft_index: int
    raft_term: int
    raft_applied_index: int
    errors: tuple[str, ...]

    @property
    def is_leader(self) -> bool:
        return self.leader != 0 and self.leader == self.member_id


@dataclass(frozen=True, slots=True)
class EtcdAlarm:
    """`kind` is `nospace` or `corrupt`."""

    member_id: int
    kind: str


class EtcdCalls(Caller):
    """For control planes. Everything here acts on the node that is asked, or on the cluster as that node sees it."""

    async def etcd_members(self, *, local: bool = False, timeout: float | None = None) -> tuple[EtcdMember, ...]:
        """`local` asks the node's own member only, which answers without quorum and may be behind.

        A node whose etcd does not run yet does not say so; it lets the call wait until its deadline.
        """
        request = EtcdMemberListRequest(query_local=local)
        answered = await self._ask(_MACHINE.EtcdMemberList, request, timeout)
        return tuple(
            EtcdMember(item.id, item.hostname, tuple(item.peer_urls), tuple(item.client_urls), item.is_learner)
            for item in self._one(_MACHINE.EtcdMemberList, answered.messages).members
        )

    async def etcd_status(self, *, timeout: float | None = None) -> EtcdStatus:
        answered = await self._ask(_MACHINE.EtcdStatus, Empty(), timeout)
        found = self._one(_MACHINE.EtcdStatus, answered.messages).member_status
        return EtcdStatus(
            member_id=found.member_id,
            leader=found.leader,
            is_learner=found.is_learner,
            version=found.protocol_version,
            storage_version=found.storage_version,
            db_size=found.db_size,
            db_size_in_use=found.db_size_in_use,
            raft_index=found.raft_index,
            raft_term=found.raft_term,
            raft_applied_index=found.raft_applied_index,
            errors=tuple(found.errors),
        )

    async def etcd_remove(self, member_id: int) -> None:
        """Takes a member out that cannot leave by itself any more. Ask another member than the one to go."""
        request = EtcdRemoveMemberByIDRequest(member_id=member_id)
        answered = await self._ask(_MACHINE.EtcdRemoveMemberByID, request, 60.0)
        self._one(_MACHINE.EtcdRemoveMemberByID, answered.messages)

    async def etcd_leave(self) -> None:
        """The node leaves the cluster and erases its etcd data."""
        answered = await self._ask(_MACHINE.EtcdLeaveCluster, EtcdLeaveClusterRequest(), _LEAVING)
        self._one(_MACHINE.EtcdLeaveCluster, answered.messages)

    async def etcd_forfeit(self) -> str:
        """Gives leadership away; returns who has it now, or nothing if the node was not the leader."""
        answered = await self._ask(_MACHINE.EtcdForfeitLeadership, EtcdForfeitLeadershipRequest(), 60.0)
        return str(self._one(_MACHINE.EtcdForfeitLeadership, answered.messages).member)

    async def etcd_alarms(self) -> tuple[EtcdAlarm, ...]:
        answered = await self._ask(_MACHINE.EtcdAlarmList, Empty())
        return _alarms(self._one(_MACHINE.EtcdAlarmList, answered.messages).member_alarms)

    async def etcd_disarm(self) -> tuple[EtcdAlarm, ...]:
        """Clears the alarms; returns those that were."""
        answered = await self._ask(_MACHINE.EtcdAlarmDisarm, Empty())
        return _alarms(self._one(_MACHINE.EtcdAlarmDisarm, answered.messages).member_alarms)

    async def etcd_defragment(self, *, timeout: float = 300.0) -> None:
        """The member stands still meanwhile: one node at a time."""
        answered = await self._ask(_MACHINE.EtcdDefragment, Empty(), timeout)
        self._one(_MACHINE.EtcdDefragment, answered.messages)

    def etcd_snapshot(self, *, timeout: float = _TRANSFER) -> AsyncIterator[bytes]:
        """The database as it comes, ended by the SHA-256 of what stands before. It holds the cluster's secrets."""
        return self._data(_MACHINE.EtcdSnapshot, EtcdSnapshotRequest(), timeout=timeout)

    async def etcd_snapshot_to(self, path: Path, *, timeout: float = _TRANSFER) -> Snapshot:
        """Saves a snapshot, for the owner's eyes only. The file appears when it is complete and its hash is right."""
        with SnapshotWriter(path, self._label) as writer:
            async for piece in self.etcd_snapshot(timeout=timeout):
                writer.add(piece)
            return writer.finish()

    async def etcd_recover(self, snapshot: Path | AsyncIterable[bytes], *, timeout: float = _TRANSFER) -> None:
        """Brings a snapshot to the node, where `bootstrap(recover=True)` takes it up."""
        pieces = _pieces(snapshot) if isinstance(snapshot, Path) else snapshot
        answered = await self._upload(_MACHINE.EtcdRecover, _wrapped(pieces), timeout)
        self._one(_MACHINE.EtcdRecover, answered.messages)


def _alarms(wire: list[EtcdMemberAlarm]) -> tuple[EtcdAlarm, ...]:
    kinds = {EtcdMemberAlarm.NOSPACE: "nospace", EtcdMemberAlarm.CORRUPT: "corrupt"}
    return tuple(EtcdAlarm(item.member_id, kinds.get(item.alarm, "unknown")) for item in wire)


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


async def _wrapped(pieces: AsyncIterable[bytes]) -> AsyncIterator[Data]:
    """In portions of a size that any node takes."""
    async for piece in pieces:
        for start in range(0, len(piece), _PIECE):
            yield Data(bytes=piece[start : start + _PIECE])
