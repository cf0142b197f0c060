"""The lab seen from the network: who gets in, who may do what, which node answers, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from talosmith.desired.pki import CLIENT, SERVER
from talosmith.lab import configure, joining
from talosmith.lab.server.lab import LabOptions, LabServer
from talosmith.talos.proto import cosi_pb2, image_pb2, lifecycle_pb2
from talosmith.talos.proto import machine_pb2 as pb
from tests.lab.lab_clients import DEADLINE, Client, insecure, secure, with_roles, with_usages
from tests.lab.lab_worlds import Configs

pytestmark = pytest.mark.anyio

INSTALLER = "ghcr.io/siderolabs/installer:v1.13.8"


@pytest.fixture
async def server(tmp_path: Path, network: str) -> AsyncIterator[LabServer]:
    async with LabServer(tmp_path, LabOptions(clock="instant", network=network, token="let-me-in")) as lab:
        yield lab


def vip_of(server: LabServer) -> str:
    return str(server.world.subnet[5])


def address(server: LabServer, name: str) -> str:
    return server.world.machines[name].address


async def settled(server: LabServer, until: Any) -> None:
    async with asyncio.timeout(DEADLINE):
        while not until():
            await asyncio.sleep(0.01)


async def cluster(server: LabServer, configs: Configs, *names: str) -> Configs:
    """A cluster of these machines, ready, with a virtual address."""
    made = Configs(bundle=configs.bundle, vip=vip_of(server))
    for name in names:
        server.control.create(name)
    await settled(server, lambda: all(stage(server, name) == "maintenance" for name in names))
    for name in names:
        role = "controlplane" if name.startswith("cp") else "worker"
        configure.apply(server.world, server.world.machines[name], made.text(role, name), "AUTO")
    server.engine.commit()
    await settled(server, lambda: server.world.machines[names[0]].runs("kubelet"))
    joining.bootstrap(server.world, server.world.machines[names[0]])
    server.engine.commit()
    await settled(server, lambda: all(ready(server, name) for name in names))
    return made


def stage(server: LabServer, name: str) -> str:
    run = server.world.machines[name].run
    return run.stage if run else ""


def ready(server: LabServer, name: str) -> bool:
    run = server.world.machines[name].run
    return bool(run and run.stage == "running" and run.ready)


async def refused(call: Any, status: Status) -> str:
    with pytest.raises(GRPCError) as failure:
        await call
    assert failure.value.status is status, failure.value
    return failure.value.message or ""


async def test_anybody_may_look_in_maintenance_mode_and_do_one_thing(server: LabServer, configs: Configs) -> None:
    server.control.create("w-1")
    await settled(server, lambda: stage(server, "w-1") == "maintenance")
    async with Client(address(server, "w-1"), insecure()) as node:
        assert (await node.machine.Version(Empty(), timeout=DEADLINE)).messages[0].version.tag == "v1.13.9"
        assert (await node.storage.Disks(Empty(), timeout=DEADLINE)).messages[0].disks
        denied = Status.PERMISSION_DENIED
        await refused(node.machine.Reboot(pb.RebootRequest(), timeout=DEADLINE), denied)
        await refused(node.machine.Reset(pb.ResetRequest(), timeout=DEADLINE), denied)
        await refused(node.machine.Upgrade(pb.UpgradeRequest(image=INSTALLER), timeout=DEADLINE), denied)
        await refused(node.machine.Bootstrap(pb.BootstrapRequest(), timeout=DEADLINE), denied)
        await refused(node.machine.Read(pb.ReadRequest(path="/etc/hostname"), timeout=DEADLINE), denied)
        secret = cosi_pb2.GetRequest(namespace="secrets", type="OSRootSecrets.secrets.talos.dev", id="os")
        await refused(node.state.Get(secret, timeout=DEADLINE), denied)
        wrong = pb.ApplyConfigurationRequest(data=b"machine: {typo: 1}")
        assert "typo" in await refused(
            node.machine.ApplyConfiguration(wrong, timeout=DEADLINE), Status.INVALID_ARGUMENT
        )
        request = pb.ApplyConfigurationRequest(data=configs.text("controlplane", "w-1").encode())
        done = await node.machine.ApplyConfiguration(request, timeout=DEADLINE)
        assert done.messages[0].mode == pb.ApplyConfigurationRequest.NO_REBOOT
    await settled(server, lambda: server.world.machines["w-1"].runs("kubelet"))


async def test_a_configured_node_lets_nobody_in_without_the_right_certificate(
    server: LabServer, configs: Configs
) -> None:
    await cluster(server, configs, "cp-1")
    authority, stranger = configs.bundle.os, Configs().bundle.os
    long_ago = datetime.now(UTC) - timedelta(days=2)
    wrong = {
        "none": secure(authority, None),
        "another cluster's": secure(authority, stranger),
        "one for servers too": with_usages(authority, (SERVER, CLIENT)),
        "expired": with_roles(authority, now=long_ago),
        "not yet valid": with_roles(authority, now=datetime.now(UTC) + timedelta(hours=1)),
    }
    for which, context in wrong.items():
        async with Client(address(server, "cp-1"), context) as node:
            with pytest.raises((OSError, StreamTerminatedError, GRPCError)):
                await node.machine.Version(Empty(), timeout=DEADLINE)
                pytest.fail(which)
    async with Client(address(server, "cp-1"), with_roles(authority)) as node:
        assert await node.machine.Version(Empty(), timeout=DEADLINE)
    async with Client(address(server, "cp-1"), with_roles(stranger)) as node:
        with pytest.raises(ssl.SSLCertVerificationError):
            await node.machine.Version(Empty(), timeout=DEADLINE)


async def test_roles_decide(server: LabServer, configs: Configs) -> None:
    await cluster(server, configs, "cp-1")

    async def may(role: str) -> set[str]:
        async with Client(address(server, "cp-1"), with_roles(configs.bundle.os, role)) as node:
            calls = {
                "Version": node.machine.Version(Empty(), timeout=DEADLINE),
                "ServiceList": node.machine.ServiceList(Empty(), timeout=DEADLINE),
                "EtcdStatus": node.machine.EtcdStatus(Empty(), timeout=DEADLINE),
                "EtcdSnapshot": node.machine.EtcdSnapshot(pb.EtcdSnapshotRequest(), timeout=DEADLINE),
                "EtcdDefragment": node.machine.EtcdDefragment(Empty(), timeout=DEADLINE),
                "Kubeconfig": node.machine.Kubeconfig(Empty(), timeout=DEADLINE),
                "Secrets": node.state.Get(
                    cosi_pb2.GetRequest(namespace="secrets", type="OSRootSecrets.secrets.talos.dev", id="os"),
                    timeout=DEADLINE,
                ),
                "Members": node.state.List(
                    cosi_pb2.ListRequest(namespace="cluster", type="Members.cluster.talos.dev"), timeout=DEADLINE
                ),
            }
            allowed = set()
            for name, call in calls.items():
                try:
                    await call
                    allowed.add(name)
                except GRPCError as failure:
                    assert failure.status is Status.PERMISSION_DENIED
            return allowed

    reader = {"Version", "ServiceList", "EtcdStatus", "Members"}
    assert await may("os:reader") == reader
    assert await may("os:operator") == reader | {"EtcdSnapshot", "EtcdDefragment"}
    assert await may("os:etcd:backup") == {"EtcdStatus", "EtcdSnapshot"}
    assert await may("os:admin") == reader | {"EtcdSnapshot", "EtcdDefragment", "Kubeconfig", "Secrets"}


async def test_control_planes_pass_calls_on_and_workers_do_not(server: LabServer, configs: Configs) -> None:
    await cluster(server, configs, "cp-1", "w-1", "w-2")
    admin = with_roles(configs.bundle.os)
    one, two = address(server, "w-1"), address(server, "w-2")
    server.control.power_off(["w-2"])
    async with Client(address(server, "cp-1"), admin) as node:
        reply = await node.machine.Hostname(Empty(), metadata={"node": one}, timeout=DEADLINE)
        assert reply.messages[0].hostname == "w-1" and reply.messages[0].metadata.hostname == ""
        many = [("nodes", one), ("nodes", two), ("nodes", "w-1")]
        reply = await node.machine.Hostname(Empty(), metadata=many, timeout=DEADLINE)
        told = {message.metadata.hostname: message for message in reply.messages}
        assert told[one].hostname == told["w-1"].hostname == "w-1"
        assert "code = Unavailable" in told[two].metadata.error and told[two].metadata.status.code == 14
        await refused(node.machine.Hostname(Empty(), metadata={"node": two}, timeout=DEADLINE), Status.UNAVAILABLE)
        members = cosi_pb2.ListRequest(namespace="cluster", type="Members.cluster.talos.dev")
        await refused(node.state.List(members, metadata=[("nodes", one)], timeout=DEADLINE), Status.INVALID_ARGUMENT)
        assert await node.state.List(members, metadata={"node": one}, timeout=DEADLINE)
    async with Client(one, admin) as worker:
        own = await worker.machine.Hostname(Empty(), metadata={"node": one}, timeout=DEADLINE)
        assert own.messages[0].hostname == "w-1"
        away = worker.machine.Hostname(Empty(), metadata={"node": address(server, "cp-1")}, timeout=DEADLINE)
        assert "no request forwarding" in await refused(away, Status.PERMISSION_DENIED)


async def test_a_call_can_be_executed_without_an_answer(server: LabServer, configs: Configs) -> None:
    made = Configs(bundle=configs.bundle, vip=vip_of(server))
    server.control.create("cp-1", config=made.text("controlplane", "cp-1"))
    await settled(server, lambda: server.world.machines["cp-1"].runs("kubelet"))
    server.control.add_fault("time-out", machines=["cp-1"], method="Bootstrap", times=1)
    async with Client(address(server, "cp-1"), with_roles(configs.bundle.os)) as node:
        with pytest.raises(asyncio.TimeoutError):
            await node.machine.Bootstrap(pb.BootstrapRequest(), timeout=0.3)
        assert len(server.world.clusters) == 1
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

        server.control.add_fault("fail", machines=["cp-1"], percent=40)
        outcomes = [await outcome() for _ in range(60)]
        assert 10 < outcomes.count(False) < 40
        server.control.clear_faults()
        assert await outcome()
        server.control.add_fault("slow", machines=["cp-1"], method="Version", seconds=0.2)
        start = asyncio.get_running_loop().time()
        await outcome()
        assert asyncio.get_running_loop().time() - start >= 0.2


@pytest.mark.parametrize(
    ("kind", "error"),
    [("refuse", ConnectionRefusedError), ("reset", OSError), ("hang", asyncio.TimeoutError)],
)
async def test_a_node_can_be_made_unreachable(
    server: LabServer, configs: Configs, kind: str, error: type[Exception]
) -> None:
    await cluster(server, configs, "cp-1", "cp-2")
    admin = with_roles(configs.bundle.os)
    server.control.add_fault(kind, machines=["cp-1"])
    async with Client(address(server, "cp-1"), admin) as node:
        with pytest.raises(error):
            await node.machine.Version(Empty(), timeout=0.5)
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


async def test_a_watch_tells_of_each_change(server: LabServer, configs: Configs) -> None:
    await cluster(server, configs, "cp-1")
    watched = cosi_pb2.WatchRequest(
        namespace="runtime", type="Services.v1alpha1.talos.dev", id="kubelet", api_version=1
    )
    kinds = cosi_pb2.EventType
    admin = with_roles(configs.bundle.os)
    async with Client(address(server, "cp-1"), admin) as node, node.state.Watch.open(timeout=DEADLINE) as stream:
        await stream.send_message(watched, end=True)
        assert not (await stream.recv_message()).event  # type: ignore[union-attr]
        first = (await stream.recv_message()).event[0]  # type: ignore[union-attr]
        assert first.event_type == kinds.CREATED and "running: true" in first.resource.spec.yaml_spec
        await node.machine.ServiceStop(pb.ServiceStopRequest(id="kubelet"), timeout=DEADLINE)
        change = (await stream.recv_message()).event[0]  # type: ignore[union-attr]
        assert change.event_type == kinds.UPDATED and "running: false" in change.resource.spec.yaml_spec
        assert "running: true" in change.old.spec.yaml_spec
        await stream.cancel()


async def test_events_of_a_reboot_end_with_the_boot_and_begin_anew(server: LabServer, configs: Configs) -> None:
    await cluster(server, configs, "cp-1", "w-1")
    async with Client(address(server, "cp-1"), with_roles(configs.bundle.os)) as node:
        route = {"node": address(server, "w-1")}
        async with node.machine.Events.open(timeout=DEADLINE, metadata=route) as stream:
            await stream.send_message(pb.EventsRequest(), end=True)
            await stream.recv_message()  # the stream has begun
            done = await node.machine.Reboot(pb.RebootRequest(), metadata=route, timeout=DEADLINE)
            actor = done.messages[0].actor_id
            seen = [event async for event in stream]
        assert {event.actor_id for event in seen} >= {actor}
        assert any("TaskEvent" in event.data.type_url for event in seen if event.actor_id == actor)
        await settled(server, lambda: ready(server, "w-1"))
        # Who watched the last boot is told of the whole new one: it may have been too quick to be seen.
        async with node.machine.Events.open(timeout=DEADLINE, metadata=route) as stream:
            await stream.send_message(pb.EventsRequest(), end=True)
            async for event in stream:
                if event.data.type_url.endswith("machine.MachineStatusEvent"):
                    status = pb.MachineStatusEvent.FromString(event.data.value)
                    if status.stage == pb.MachineStatusEvent.RUNNING and status.status.ready:
                        await stream.cancel()
                        break


async def test_the_new_way_to_upgrade(server: LabServer, configs: Configs) -> None:
    await cluster(server, configs, "cp-1")
    request = lifecycle_pb2.LifecycleServiceUpgradeRequest()
    request.source.image_name = INSTALLER
    async with Client(address(server, "cp-1"), with_roles(configs.bundle.os)) as node:
        await refused(node.lifecycle.Upgrade(request, timeout=DEADLINE), Status.NOT_FOUND)
        pulled = await node.images.Pull(image_pb2.ImageServicePullRequest(image_ref=INSTALLER), timeout=DEADLINE)
        assert pulled[-1].name == INSTALLER
        progress = await node.lifecycle.Upgrade(request, timeout=DEADLINE)
        assert progress[-1].progress.WhichOneof("response") == "exit_code"
        assert progress[-1].progress.exit_code == 0
        server.control.add_fault("full-disk", machines=["cp-1"])
        progress = await node.lifecycle.Upgrade(request, timeout=DEADLINE)
        assert progress[-1].progress.exit_code == 1


async def test_the_old_way_to_upgrade_looks_at_etcd_first(server: LabServer, configs: Configs) -> None:
    await cluster(server, configs, "cp-1", "cp-2")
    async with Client(address(server, "cp-1"), with_roles(configs.bundle.os)) as node:
        told = await refused(
            node.machine.Upgrade(pb.UpgradeRequest(image=INSTALLER), timeout=DEADLINE), Status.UNKNOWN
        )
        assert "only 2 members" in told
        await node.machine.Upgrade(pb.UpgradeRequest(image=INSTALLER, force=True), timeout=DEADLINE)


async def test_killed_and_started_again_it_is_the_same_lab(tmp_path: Path, network: str, configs: Configs) -> None:
    options = LabOptions(clock="instant", network=network)
    async with LabServer(tmp_path, options) as lab:
        await cluster(lab, configs, "cp-1", "cp-2", "cp-3")
        lab.control.create("w-1")
        await settled(lab, lambda: stage(lab, "w-1") == "maintenance")
        before = lab.control.list_machines()
        members = lab.control.status()["etcd"]
    async with LabServer(tmp_path, options) as lab:
        assert lab.control.list_machines() == before, "the same, down to the fingerprint of maintenance mode"
        assert lab.control.status()["etcd"] == members
        async with Client(lab.world.machines["cp-2"].address, with_roles(configs.bundle.os)) as node:
            listed = await node.machine.EtcdMemberList(pb.EtcdMemberListRequest(), timeout=DEADLINE)
            assert len(listed.messages[0].members) == 3
        lab.control.reboot(["w-1"])
        await settled(lab, lambda: stage(lab, "w-1") == "maintenance")
        fingerprints = [one["fingerprint"] for one in (*before, *lab.control.list_machines()) if one["name"] == "w-1"]
        assert fingerprints[0] != fingerprints[1], "another boot, another key"


async def test_machines_by_port_where_there_is_one_address(tmp_path: Path, configs: Configs) -> None:
    async with LabServer(tmp_path, LabOptions(clock="instant", ports=True)) as lab:
        ports = [lab.control.create(name)["port"] for name in ("a", "b")]
        assert len(set(ports)) == 2
        await settled(lab, lambda: stage(lab, "a") == stage(lab, "b") == "maintenance")
        for name, port in zip("ab", ports, strict=True):
            async with Client("127.0.0.1", insecure(), port) as node:
                uuid = cosi_pb2.GetRequest(
                    namespace="hardware", type="SystemInformations.hardware.talos.dev", id="systeminformation"
                )
                spec = (await node.state.Get(uuid, timeout=DEADLINE)).resource.spec.yaml_spec
                assert f"serialnumber: {name}\n" in spec


async def test_a_machine_whose_address_somebody_else_has_says_so(server: LabServer) -> None:
    with socket.socket() as other:
        other.bind((str(server.world.subnet[11]), 50000))
        other.listen()
        server.control.create("a")
        await settled(server, lambda: stage(server, "a") == "maintenance")
        assert "already in use" in server.control.list_machines("a")[0]["problem"]
    server.control.reboot(["a"])
    await settled(server, lambda: stage(server, "a") == "maintenance")
    assert server.control.list_machines("a")[0]["problem"] == ""


async def ask(server: LabServer, line: bytes) -> dict[str, Any]:
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(line)
    answer = await asyncio.wait_for(reader.read(), DEADLINE)
    writer.close()
    return json.loads(answer) if answer else {}


async def test_the_way_in_needs_the_token(server: LabServer) -> None:
    assert server.address[0] == "127.0.0.1"
    for wrong in ("", "let-me-ix", "let-me-in "):
        answer = await ask(server, json.dumps({"token": wrong, "call": "stop"}).encode() + b"\n")
        assert answer["error"] == "the token is wrong"
    assert not server.control.stopping.is_set()
    good = json.dumps({"token": "let-me-in", "call": "status"}).encode() + b"\n"
    assert (await ask(server, good))["done"]["machines"] == 0


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"nonsense\n",
        b"[]\n",
        b'{"token": "let-me-in"}\n',
        b'{"token": "let-me-in", "call": "machine.create", "with": {"nonsense": 1}}\n',
        b'{"token": "let-me-in", "call": "machine.create", "with": {"name": "../x"}}\n',
        b'{"token": "let-me-in", "call": "fault.add", "with": {"kind": "nonsense"}}\n',
        b'{"token": "let-me-in", "call": "machine.delete", "with": {"names": ["nobody"]}}\n',
    ],
)
async def test_a_wrong_request_is_answered_with_an_error(server: LabServer, line: bytes) -> None:
    assert (await ask(server, line)).get("error")
    assert server.world.machines == {} and server.world.faults == {}


async def test_a_request_without_end_is_not_kept(server: LabServer) -> None:
    reader, writer = await asyncio.open_connection(*server.address)
    with pytest.raises((ConnectionError, AssertionError)):
        for _ in range(200):
            writer.write(b"x" * 65_536)
            await writer.drain()
        assert await asyncio.wait_for(reader.read(), DEADLINE) != b""
    writer.close()
