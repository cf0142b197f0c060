"""Resources, typed views of them, events and logs."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from grpclib.const import Status

from talosmith.talos import (
    Change,
    ChangeKind,
    Diagnostic,
    Failed,
    Link,
    LinkAddress,
    MachineStatus,
    Member,
    NotFound,
    NotReady,
    NotTalos,
    TalosClient,
    TimeStatus,
    TooLarge,
    Unmet,
)
from talosmith.talos import events as happenings
from talosmith.talos.proto import cluster_pb2, cosi_pb2
from talosmith.talos.proto import machine_pb2 as wire
from talosmith.talos.proto.common_pb2 import Data
from tests.unit.talos.server import Recording, State, answer, answers, fails, resource, serving

MACHINE_STATUS = """\
stage: booting
status:
    ready: false
    unmetConditions:
        - name: time
          reason: time is not in sync
"""


async def test_the_typed_views(client: TalosClient, context: ssl.SSLContext) -> None:
    state = State(
        resource("MachineStatuses.runtime.talos.dev", "machine", MACHINE_STATUS),
        resource(
            "LinkStatuses.net.talos.dev",
            "eth0",
            "type: ether\nhardwareAddr: 52:54:00:11:22:33\npermanentAddr: 52:54:00:11:22:33\nmtu: 1500\n"
            "kind: ''\noperationalState: up\ndriver: virtio_net\nspeedMbit: 1000\n",
        ),
        resource(
            "AddressStatuses.net.talos.dev",
            "eth0/10.5.0.2/24",
            "address: 10.5.0.2/24\nlinkName: eth0\nscope: global\n",
        ),
        resource("NodeAddresses.net.talos.dev", "routed", "addresses:\n    - 10.5.0.2/24\n    - fd00::2/64\n"),
        resource(
            "Members.cluster.talos.dev",
            "cp-1",
            "nodeId: abc\naddresses:\n    - 10.5.0.2\nhostname: cp-1\nmachineType: controlplane\n"
            "operatingSystem: Talos (v1.13.9)\n",
        ),
        resource("Nodenames.kubernetes.talos.dev", "nodename", "nodename: cp-1\n"),
        resource("SystemDisks.block.talos.dev", "system-disk", "diskID: vda\ndevPath: /dev/vda\n"),
        resource("TimeStatuses.v1alpha1.talos.dev", "node", "synced: true\nepoch: 1\nsyncDisabled: false\n"),
        resource("Diagnostics.runtime.talos.dev", "x", "message: too little\ndetails:\n    - memory\n"),
        resource("MachineConfigs.config.talos.dev", "v1alpha1", "|\n    version: v1alpha1\n    machine: {}\n"),
        resource("MachineConfigs.config.talos.dev", "persistent", "version: old\n"),
    )
    async with serving(context, state_Get=state.get, state_List=state.list) as address:
        node = client.node(address)
        assert await node.machine_status() == MachineStatus("booting", False, (Unmet("time", "time is not in sync"),))
        mac = "52:54:00:11:22:33"
        assert await node.links() == (Link("eth0", mac, mac, "", "ether", "virtio_net", "", 1500, True, 1000),)
        assert await node.addresses() == (LinkAddress(ipaddress.ip_interface("10.5.0.2/24"), "eth0", "global"),)
        assert await node.node_addresses() == ("10.5.0.2", "fd00::2")
        assert await node.members() == (Member("cp-1", "cp-1", ("10.5.0.2",), "controlplane", "Talos (v1.13.9)"),)
        assert await node.nodename() == "cp-1"
        assert await node.system_disk() == "/dev/vda"
        assert await node.time_status() == TimeStatus(synced=True, disabled=False)
        assert await node.diagnostics() == (Diagnostic("x", "too little", ("memory",)),)
        assert (await node.machine_config()).reveal() == "version: v1alpha1\nmachine: {}\n"
        assert (await node.machine_config(persistent=True)).reveal() == "version: old\n"
    assert {(request.type, request.namespace) for request in state.requests} >= {
        ("MachineStatuses.runtime.talos.dev", "runtime"),
        ("Members.cluster.talos.dev", "cluster"),
        ("MachineConfigs.config.talos.dev", "config"),
    }


@pytest.mark.parametrize("yaml", ["", "[]", "stage: 1", "stage: x\nstatus: []", "a: [", "a: &a [*a, *a]", "\x00"])
async def test_a_resource_that_is_not_what_it_should_be(
    client: TalosClient, context: ssl.SSLContext, yaml: str
) -> None:
    state = State(resource("MachineStatuses.runtime.talos.dev", "machine", yaml))
    async with serving(context, state_Get=state.get) as address:
        with pytest.raises(NotTalos, match="MachineStatuses"):
            await client.node(address).machine_status()


async def test_getting_and_listing(client: TalosClient, context: ssl.SSLContext) -> None:
    kind = "Widgets.example.talos.dev"
    definition = resource(
        "ResourceDefinitions.meta.cosi.dev",
        "widgets.example.talos.dev",
        f"type: {kind}\ndefaultNamespace: example\naliases:\n    - wid\nallAliases:\n    - widget\n    - widgets\n",
    )
    state = State(definition, resource(kind, "a", "token: s3cret", labels={"l": "1"}, annotations={"n": "2"}))
    async with serving(context, state_Get=state.get, state_List=state.list) as address:
        node = client.node(address)
        found = await node.get("Widget", "a")
        assert (found.namespace, found.type, found.id, found.version, found.phase) == (
            "ns",
            kind,
            "a",
            "3",
            "running",
        )
        assert (found.labels, found.annotations, found.spec, found.proto) == (
            {"l": "1"},
            {"n": "2"},
            {"token": "s3cret"},
            b"\x01",
        )
        assert "s3cret" not in repr(found)
        assert state.requests[-1].namespace == "example"
        assert len(await node.list("wid", labels={"l": "1"}, namespace="other")) == 1
        (query,) = state.requests[-1].options.label_query
        assert [(term.key, list(term.value)) for term in query.terms] == [("l", ["1"])]
        assert state.requests[-1].namespace == "other"
        with pytest.raises(NotFound, match="doesn't exist"):
            await node.get("widgets", "b")
        with pytest.raises(NotFound, match="called 'gadgets'"):
            await node.list("gadgets")


async def test_watching_a_kind(client: TalosClient, context: ssl.SSLContext) -> None:
    one = resource("Members.cluster.talos.dev", "cp-1", "hostname: cp-1")
    two = resource("Members.cluster.talos.dev", "cp-1", "hostname: cp-one")
    events = [
        cosi_pb2.Event(event_type=cosi_pb2.CREATED, resource=one, bookmark=b"1"),
        cosi_pb2.Event(event_type=cosi_pb2.BOOTSTRAPPED, resource=cosi_pb2.Resource()),
        cosi_pb2.Event(event_type=cosi_pb2.UPDATED, resource=two, old=one),
        cosi_pb2.Event(event_type=cosi_pb2.DESTROYED, resource=two),
    ]
    asked: list[Any] = []

    async def watch(stream: Any) -> None:
        asked.append(await stream.recv_message())
        for event in events:
            await stream.send_message(cosi_pb2.WatchResponse(event=[event]))
        await asyncio.sleep(60)

    seen: list[Change] = []
    async with serving(context, state_Watch=watch) as address:
        async for change in client.node(address).watch("members"):
            seen.append(change)
            if len(seen) == len(events):
                break
    assert [change.kind for change in seen] == [
        ChangeKind.CREATED,
        ChangeKind.BOOTSTRAPPED,
        ChangeKind.UPDATED,
        ChangeKind.DESTROYED,
    ]
    assert seen[0].bookmark == b"1"
    assert seen[1].resource is None
    assert seen[2].resource is not None
    assert seen[2].old is not None
    assert (seen[2].old.spec, seen[2].resource.spec) == ({"hostname": "cp-1"}, {"hostname": "cp-one"})
    (request,) = asked
    assert request.options.bootstrap_contents
    assert request.api_version == 1
    assert not request.HasField("id")


async def test_watching_one_from_a_bookmark(client: TalosClient, context: ssl.SSLContext) -> None:
    item = resource("MachineStatuses.runtime.talos.dev", "machine", MACHINE_STATUS)
    reply = cosi_pb2.WatchResponse(event=[cosi_pb2.Event(event_type=cosi_pb2.CREATED, resource=item)])
    watch = Recording(reply, reply)
    async with serving(context, state_Watch=watch) as address:
        node = client.node(address)
        assert [status.stage async for status in node.watch_machine_status()] == ["booting"]
        assert len([change async for change in node.watch("machinestatus", "machine", after=b"7")]) == 1
    first, second = watch.requests
    assert (first.id, first.options.bootstrap_contents) == ("machine", False)
    assert second.options.start_from_bookmark == b"7"


async def test_a_watch_that_the_node_gives_up(client: TalosClient, context: ssl.SSLContext) -> None:
    reply = cosi_pb2.WatchResponse(event=[cosi_pb2.Event(event_type=cosi_pb2.ERRORED, error="buffer overrun")])
    async with serving(context, state_Watch=answers(reply)) as address:
        with pytest.raises(Failed, match="buffer overrun"):
            async for _ in client.node(address).watch("members"):
                pass


def event(message: Any, prefix: str = "talos/runtime/") -> wire.Event:
    name = message.DESCRIPTOR.full_name
    packed = AnyMessage(type_url=prefix + name, value=message.SerializeToString())
    return wire.Event(data=packed, id="id", actor_id="actor")


async def test_events(client: TalosClient, context: ssl.SSLContext) -> None:
    status = wire.MachineStatusEvent(stage=wire.MachineStatusEvent.SHUTTING_DOWN)
    status.status.unmet_conditions.add(name="n", reason="r")
    sequence = wire.SequenceEvent(sequence="boot", action=wire.SequenceEvent.STOP)
    sequence.error.message = "no disk"
    service = wire.ServiceStateEvent(service="etcd", action=wire.ServiceStateEvent.RUNNING, message="up")
    service.health.healthy = True
    broken = wire.Event(data=AnyMessage(type_url="talos/runtime/machine.TaskEvent", value=b"\xff"))
    replies = [
        wire.Event(),
        event(sequence),
        event(wire.PhaseEvent(phase="labelNode", action=wire.PhaseEvent.START)),
        event(wire.TaskEvent(task="stopAllServices", action=wire.TaskEvent.STOP)),
        event(service),
        event(wire.AddressEvent(hostname="h", addresses=["10.5.0.2"])),
        event(wire.ConfigValidationErrorEvent(error="bad")),
        event(wire.RestartEvent(cmd=1)),
        event(status),
        event(wire.Hostname()),
        broken,
    ]
    asked: list[Any] = []

    async def handle(stream: Any) -> None:
        asked.append(await stream.recv_message())
        for reply in replies:
            await stream.send_message(reply)

    async with serving(context, machine_Events=handle) as address:
        found = [
            item async for item in client.node(address).events(tail=-1, actor="actor", after="x", tail_seconds=5)
        ]
    assert {(item.id, item.actor) for item in found[:-1]} == {("id", "actor")}
    assert [item.what for item in found] == [
        happenings.SequenceStep("boot", "stop", "no disk"),
        happenings.PhaseStep("labelNode", "start"),
        happenings.TaskStep("stopAllServices", "stop"),
        happenings.ServiceStep("etcd", "running", "up", True),
        happenings.AddressesChanged("h", ("10.5.0.2",)),
        happenings.ConfigProblem("bad"),
        happenings.Restarting(),
        MachineStatus("shutting down", False, (Unmet("n", "r"),)),
        happenings.Unknown("Hostname"),
        happenings.Unknown("TaskEvent"),
    ]
    (request,) = asked
    assert (request.tail_events, request.with_actor_id, request.tail_id, request.tail_seconds) == (
        -1,
        "actor",
        "x",
        5,
    )


async def test_logs_and_files(client: TalosClient, context: ssl.SSLContext) -> None:
    cut = [Data(bytes=b"fir"), Data(), Data(bytes="st\nsecönd\n\n".encode()[:7]), Data(bytes=b"\xb6nd\n\nlast")]
    logs: list[Any] = []

    async def log(stream: Any) -> None:
        logs.append(await stream.recv_message())
        for piece in cut:
            await stream.send_message(piece)

    listed = [wire.FileInfo(name="/etc/a", size=3, mode=1 << 31 | 0o644), wire.FileInfo(name="/etc/b", error="gone")]
    async with serving(
        context,
        machine_Logs=log,
        machine_Dmesg=answers(*cut),
        machine_LogsContainers=answer(wire.LogsContainersResponse(messages=[wire.LogsContainer(ids=["apid"])])),
        machine_Read=answers(Data(bytes=b"0123"), Data(bytes=b"4567\n")),
        machine_Copy=answers(Data(bytes=b"tar"), Data(bytes=b"gz")),
        machine_List=answers(*listed),
    ) as address:
        node = client.node(address)
        expected = ["first", "secönd", "", "last"]
        assert [line async for line in node.logs("kubelet", tail=10)] == expected
        assert [line async for line in node.logs("kube-system/x:y", kubernetes=True, follow=True)] == expected
        assert [line async for line in node.dmesg()] == expected
        assert await node.log_names() == ("apid",)
        assert await node.boot_id() == "01234567"
        assert [piece async for piece in node.copy("/etc")] == [b"tar", b"gz"]
        with pytest.raises(TooLarge, match="more than 5 bytes"):
            await node.read_file("/etc/a", largest=5)
        files = [file async for file in node.list_files("/etc")]
        assert [(file.path, file.size, file.mode, file.error) for file in files] == [
            ("/etc/a", 3, 0o644, ""),
            ("/etc/b", 0, 0, "gone"),
        ]
    assert [(item.namespace, item.driver, item.follow, item.tail_lines) for item in logs] == [
        ("system", 0, False, 10),
        ("k8s.io", 1, True, -1),
    ]


async def test_the_health_check_of_a_node(client: TalosClient, context: ssl.SSLContext) -> None:
    asked: list[Any] = []

    async def check(stream: Any) -> None:
        asked.append(await stream.recv_message())
        await stream.send_message(cluster_pb2.HealthCheckProgress(message="waiting for etcd"))
        await fails(Status.UNKNOWN, "timed out")(stream)

    said = []
    async with serving(context, cluster_HealthCheck=check) as address:
        with pytest.raises(NotReady, match="timed out"):
            async for message in client.node(address).cluster_health(["10.5.0.2"], wait=timedelta(seconds=90)):
                said.append(message)  # noqa: PERF401 - what came before the error counts
    assert said == ["waiting for etcd"]
    assert asked[0].wait_timeout.seconds == 90
    assert list(asked[0].cluster_info.control_plane_nodes) == ["10.5.0.2"]
