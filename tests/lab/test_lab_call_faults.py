"""What goes wrong when it is asked for, as a client feels it, and who answers then."""

from __future__ import annotations

import asyncio
import ssl

import pytest
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab.faults import Fault, strikes
from talosmith_lab.server.lab import LabServer
from tests.lab.lab_clients import DEADLINE, Client, with_roles
from tests.lab.lab_servers import address, cluster, refused, settled, vip_of
from tests.lab.lab_worlds import Configs


async def test_a_call_can_be_executed_without_an_answer(server: LabServer, configs: Configs) -> None:
    made = Configs(bundle=configs.bundle, vip=vip_of(server))
    server.control.create("cp-1", config=made.text("controlplane", "cp-1"))
    await settled(server, lambda: server.world.machines["cp-1"].runs("kubelet"))
    server.control.add_fault("time-out", machines=["cp-1"], method="Bootstrap", times=1)
    async with Client(address(server, "cp-1"), with_roles(configs.bundle.os)) as node:
        asked = asyncio.create_task(node.machine.Bootstrap(pb.BootstrapRequest(), timeout=DEADLINE))
        await settled(server, lambda: len(server.world.clusters) == 1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asked, 0.3)
        again = node.machine.Bootstrap(pb.BootstrapRequest(), timeout=DEADLINE)
        assert "not empty" in await refused(again, Status.ALREADY_EXISTS)


async def test_calls_fail_and_are_slow_as_asked(server: LabServer, configs: Configs) -> None:
    await cluster(server, configs, "cp-1")
    async with Client(address(server, "cp-1"), with_roles(configs.bundle.os)) as node:

        async def outcome() -> bool:
            try:
                await node.machine.Version(Empty(), timeout=DEADLINE)
            except GRPCError as failure:
                assert failure.status is Status.UNAVAILABLE
                return False
            return True

        identity = server.control.add_fault("fail", machines=["cp-1"], percent=40)["id"]
        same = Fault(id=identity, kind="fail", percent=40)
        outcomes = [await outcome() for _ in range(60)]
        assert outcomes == [not strikes(same, server.world.seed) for _ in range(60)]
        assert 0 < outcomes.count(False) < 60
        server.control.clear_faults()
        assert await outcome()
        server.control.add_fault("slow", machines=["cp-1"], method="Version", seconds=0.2)
        start = asyncio.get_running_loop().time()
        await outcome()
        assert asyncio.get_running_loop().time() - start >= 0.2


@pytest.mark.parametrize(
    ("kind", "error", "timeout"),
    [
        ("refuse", ConnectionRefusedError, DEADLINE),
        ("reset", ConnectionError, DEADLINE),
        ("hang", asyncio.TimeoutError, 0.5),
    ],
)
async def test_a_node_can_be_made_unreachable(
    server: LabServer, configs: Configs, kind: str, error: type[Exception], timeout: float
) -> None:
    await cluster(server, configs, "cp-1", "cp-2")
    admin = with_roles(configs.bundle.os)
    server.control.add_fault(kind, machines=["cp-1"])
    async with Client(address(server, "cp-1"), admin) as node:
        with pytest.raises(error):
            await node.machine.Version(Empty(), timeout=timeout)
    async with Client(address(server, "cp-2"), admin) as node:
        assert await node.machine.Version(Empty(), timeout=DEADLINE)
    server.control.clear_faults()
    async with Client(address(server, "cp-1"), admin) as node:
        assert await node.machine.Version(Empty(), timeout=DEADLINE)


async def test_a_partition_from_us_silences_connections_that_are_open(server: LabServer, configs: Configs) -> None:
    await cluster(server, configs, "cp-1")
    async with Client(address(server, "cp-1"), with_roles(configs.bundle.os)) as node:
        assert await node.machine.Version(Empty(), timeout=DEADLINE)
        server.control.add_fault("partition", machines=["cp-1"])
        with pytest.raises(asyncio.TimeoutError):
            await node.machine.Version(Empty(), timeout=0.3)
        server.control.clear_faults()
        assert await node.machine.Version(Empty(), timeout=DEADLINE)


async def test_the_virtual_address_is_answered_by_who_holds_it(server: LabServer, configs: Configs) -> None:
    await cluster(server, configs, "cp-1", "cp-2", "cp-3")
    admin = with_roles(configs.bundle.os)

    async def who() -> str:
        async with Client(vip_of(server), admin) as node:
            reply = await node.machine.Hostname(Empty(), timeout=DEADLINE)
            return reply.messages[0].hostname

    await settled(server, lambda: server.world.vip_holders)
    first = await who()
    server.control.power_off([first])
    await settled(server, lambda: server.world.vip_holders)
    second = await who()
    assert second in {"cp-1", "cp-2", "cp-3"} - {first}
    server.control.power_off([second])
    with pytest.raises(OSError):
        await who()


async def test_a_node_whose_clock_is_ahead_shows_a_certificate_that_is_not_valid_yet(
    server: LabServer, configs: Configs
) -> None:
    await cluster(server, configs, "cp-1")
    server.control.add_fault("clock-skew", machines=["cp-1"], seconds=86_400)
    async with Client(address(server, "cp-1"), with_roles(configs.bundle.os)) as node:
        with pytest.raises(ssl.SSLCertVerificationError, match="not yet valid"):
            await node.machine.Version(Empty(), timeout=DEADLINE)
