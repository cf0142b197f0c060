"""etcd: members, backups that are checked, and bringing one back."""

from __future__ import annotations

import hashlib
import os
import ssl
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talosmith.talos import EtcdAlarm, EtcdMember, EtcdStatus, Failed, Invalid, NotFound, TalosClient, Unreachable
from talosmith.talos.proto import machine_pb2 as wire
from talosmith.talos.proto.common_pb2 import Data
from tests.unit.talos.server import Recording, answer, answers, fails, serving

DATABASE = b"".join(hashlib.sha512(str(number).encode()).digest() for number in range(8 * 300))
SNAPSHOT = DATABASE + hashlib.sha256(DATABASE).digest()


def in_pieces(content: bytes, size: int = 7777) -> list[Data]:
    return [Data(bytes=content[start : start + size]) for start in range(0, len(content), size)]


async def test_members_and_status(client: TalosClient, context: ssl.SSLContext) -> None:
    member = wire.EtcdMember(
        id=2**63 + 5, hostname="cp-1", peer_urls=["https://10.5.0.2:2380"], client_urls=["u"], is_learner=True
    )
    members = Recording(wire.EtcdMemberListResponse(messages=[wire.EtcdMembers(members=[member])]))
    status = wire.EtcdMemberStatus(
        member_id=7, leader=7, protocol_version="3.6.12", db_size=10, db_size_in_use=5, errors=["NOSPACE"]
    )
    async with serving(
        context,
        machine_EtcdMemberList=members,
        machine_EtcdStatus=answer(wire.EtcdStatusResponse(messages=[wire.EtcdStatus(member_status=status)])),
    ) as address:
        node = client.node(address)
        (found,) = await node.etcd_members(local=True)
        assert found == EtcdMember(2**63 + 5, "cp-1", ("https://10.5.0.2:2380",), ("u",), True)
        assert found.hex_id == "8000000000000005"
        state = await node.etcd_status()
        assert state == EtcdStatus(7, 7, False, "3.6.12", "", 10, 5, 0, 0, 0, ("NOSPACE",))
        assert state.is_leader
    assert members.requests[0].query_local


def test_without_a_leader_nobody_is_the_leader() -> None:
    assert not EtcdStatus(0, 0, False, "", "", 0, 0, 0, 0, 0, ()).is_leader


async def test_acts_on_members(client: TalosClient, context: ssl.SSLContext) -> None:
    remove = Recording(wire.EtcdRemoveMemberByIDResponse(messages=[wire.EtcdRemoveMemberByID()]))
    alarm = wire.EtcdMemberAlarm(member_id=7, alarm=wire.EtcdMemberAlarm.NOSPACE)
    async with serving(
        context,
        machine_EtcdRemoveMemberByID=remove,
        machine_EtcdLeaveCluster=answer(wire.EtcdLeaveClusterResponse(messages=[wire.EtcdLeaveCluster()])),
        machine_EtcdForfeitLeadership=answer(
            wire.EtcdForfeitLeadershipResponse(messages=[wire.EtcdForfeitLeadership(member="cp-2")])
        ),
        machine_EtcdAlarmList=answer(wire.EtcdAlarmListResponse(messages=[wire.EtcdAlarm(member_alarms=[alarm])])),
        machine_EtcdAlarmDisarm=answer(
            wire.EtcdAlarmDisarmResponse(messages=[wire.EtcdAlarmDisarm(member_alarms=[alarm])])
        ),
        machine_EtcdDefragment=answer(wire.EtcdDefragmentResponse(messages=[wire.EtcdDefragment()])),
    ) as address:
        node = client.node(address)
        await node.etcd_remove(2**64 - 1)
        await node.etcd_leave()
        assert await node.etcd_forfeit() == "cp-2"
        assert await node.etcd_alarms() == (EtcdAlarm(7, "nospace"),)
        assert await node.etcd_disarm() == (EtcdAlarm(7, "nospace"),)
        await node.etcd_defragment()
    assert remove.requests[0].member_id == 2**64 - 1


async def test_removing_who_is_no_member(client: TalosClient, context: ssl.SSLContext) -> None:
    handler = fails(Status.NOT_FOUND, "etcdserver: member not found")
    async with serving(context, machine_EtcdRemoveMemberByID=handler) as address:
        with pytest.raises(NotFound, match="member not found"):
            await client.node(address).etcd_remove(1)


@pytest.mark.parametrize("size", [1, 31, 512, 70_000])
async def test_a_snapshot_is_saved_whole(
    client: TalosClient, context: ssl.SSLContext, tmp_path: Path, size: int
) -> None:
    content = SNAPSHOT if size > 100 else hashlib.sha256(b"").digest()
    async with serving(context, machine_EtcdSnapshot=answers(*in_pieces(content, size))) as address:
        old = os.umask(0)
        try:
            saved = await client.node(address).etcd_snapshot_to(tmp_path / "etcd.db")
        finally:
            os.umask(old)
    assert saved.path.read_bytes() == content
    assert (saved.size, saved.sha256) == (len(content), hashlib.sha256(content[:-32]).hexdigest())
    assert stat.S_IMODE(saved.path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [saved.path]


@pytest.mark.parametrize(
    "content",
    [b"", SNAPSHOT[:-512], SNAPSHOT[:-1], DATABASE, bytes([SNAPSHOT[0] ^ 1]) + SNAPSHOT[1:], SNAPSHOT + bytes(512)],
    ids=["empty", "a page less", "a byte less", "no hash", "a bit flipped", "a page more"],
)
async def test_a_snapshot_that_is_not_whole_is_not_saved(
    client: TalosClient, context: ssl.SSLContext, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "etcd.db"
    path.write_text("yesterday's")
    async with serving(context, machine_EtcdSnapshot=answers(*in_pieces(content))) as address:
        with pytest.raises(Failed, match="not whole"):
            await client.node(address).etcd_snapshot_to(path)
    assert path.read_text() == "yesterday's"
    assert list(tmp_path.iterdir()) == [path]


async def test_a_snapshot_that_breaks_off_is_not_saved(
    client: TalosClient, context: ssl.SSLContext, tmp_path: Path
) -> None:
    async def break_off(stream: Any) -> None:
        await stream.recv_message()
        await stream.send_message(Data(bytes=SNAPSHOT))
        stream._stream._transport.abort()

    async with serving(context, machine_EtcdSnapshot=break_off) as address:
        with pytest.raises(Unreachable):
            await client.node(address).etcd_snapshot_to(tmp_path / "etcd.db")
    assert list(tmp_path.iterdir()) == []


class Taking:
    """Takes an upload, all of it or only its beginning."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.content = bytearray()
        self.stop_after = stop_after

    async def __call__(self, stream: Any) -> None:
        async for piece in stream:
            self.content += piece.bytes
            if self.stop_after is not None and len(self.content) >= self.stop_after:
                raise GRPCError(Status.INVALID_ARGUMENT, "not a snapshot")
        await stream.send_message(wire.EtcdRecoverResponse(messages=[wire.EtcdRecover()]))


async def test_a_snapshot_is_brought_back(client: TalosClient, context: ssl.SSLContext, tmp_path: Path) -> None:
    path = tmp_path / "etcd.db"
    path.write_bytes(SNAPSHOT * 40)  # more than any window
    from_file, from_pieces = Taking(), Taking()

    async def pieces() -> AsyncIterator[bytes]:
        yield b""
        yield SNAPSHOT[:5]
        yield SNAPSHOT[5:]

    async with serving(context, machine_EtcdRecover=from_file) as address:
        await client.node(address).etcd_recover(path)
    async with serving(context, machine_EtcdRecover=from_pieces) as address:
        await client.node(address).etcd_recover(pieces())
    assert from_file.content == SNAPSHOT * 40
    assert from_pieces.content == SNAPSHOT


async def test_a_node_that_refuses_a_snapshot_half_way(
    client: TalosClient, context: ssl.SSLContext, tmp_path: Path
) -> None:
    path = tmp_path / "etcd.db"
    path.write_bytes(SNAPSHOT * 100)
    async with serving(context, machine_EtcdRecover=Taking(stop_after=100_000)) as address:
        with pytest.raises(Invalid, match="not a snapshot"):
            await client.node(address).etcd_recover(path, timeout=240)


async def test_a_snapshot_that_cannot_be_read_is_not_the_nodes_fault(
    client: TalosClient, context: ssl.SSLContext, tmp_path: Path
) -> None:
    async with serving(context, machine_EtcdRecover=Taking(), machine_EtcdStatus=fails(Status.OK)) as address:
        node = client.node(address)
        with pytest.raises(FileNotFoundError):
            await node.etcd_recover(tmp_path / "none")
