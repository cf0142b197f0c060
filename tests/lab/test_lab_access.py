"""Who gets in at a node, who may do what there, and which node answers."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from talosmith.desired.pki import CLIENT, SERVER
from talosmith.talos.proto import cosi_pb2
from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab.server.lab import LabServer
from tests.lab.lab_clients import DEADLINE, Client, insecure, secure, with_roles, with_usages
from tests.lab.lab_servers import address, cluster, refused, settled, waits
from tests.lab.lab_worlds import INSTALLER as FACTORY
from tests.lab.lab_worlds import NEW, Configs

INSTALLER = f"{FACTORY}:v1.13.8"


async def test_anybody_may_look_in_maintenance_mode_and_do_one_thing(server: LabServer, configs: Configs) -> None:
    server.control.create("w-1")
    await settled(server, lambda: waits(server, "w-1"))
    async with Client(address(server, "w-1"), insecure()) as node:
        assert (await node.machine.Version(Empty(), timeout=DEADLINE)).messages[0].version.tag == NEW
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
            with pytest.raises((OSError, StreamTerminatedError, GRPCError)) as refusal:
                await node.machine.Version(Empty(), timeout=DEADLINE)
                pytest.fail(which)
            assert not isinstance(refusal.value, TimeoutError), which
    async with Client(address(server, "cp-1"), with_roles(authority)) as node:
        assert await node.machine.Version(Empty(), timeout=DEADLINE)
    async with Client(address(server, "cp-1"), with_roles(stranger)) as node:
        with pytest.raises(ssl.SSLCertVerificationError):
            await node.machine.Version(Empty(), timeout=DEADLINE)


async def test_the_certificate_of_a_node_is_valid_for_clients_whose_clocks_are_behind(
    server: LabServer, configs: Configs
) -> None:
    await cluster(server, configs, "cp-1")
    stream = await asyncio.open_connection(address(server, "cp-1"), 50000, ssl=with_roles(configs.bundle.os))
    try:
        shown = stream[1].get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        stream[1].close()
    assert datetime.now(UTC) - x509.load_der_x509_certificate(shown).not_valid_before_utc > timedelta(seconds=30)


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
