"""What a client follows: watches, the events of a reboot, upgrades in the old and the new way."""

from __future__ import annotations

from grpclib.const import Status

from talosmith.talos.proto import cosi_pb2, image_pb2, lifecycle_pb2
from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab.server.lab import LabServer
from tests.lab.lab_clients import DEADLINE, Client, with_roles
from tests.lab.lab_servers import address, cluster, ready, refused, settled
from tests.lab.lab_worlds import INSTALLER as FACTORY
from tests.lab.lab_worlds import Configs

INSTALLER = f"{FACTORY}:v1.13.8"


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
        await node.machine.ServiceRestart(pb.ServiceRestartRequest(id="kubelet"), timeout=DEADLINE)
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


async def test_who_knows_an_event_is_told_what_came_after_it_in_the_next_boot_too(
    server: LabServer, configs: Configs
) -> None:
    """So `talosctl` 1.14 follows a reboot: it asks for what came after the last event that it has seen."""
    await cluster(server, configs, "cp-1", "w-1")
    async with Client(address(server, "cp-1"), with_roles(configs.bundle.os)) as node:
        route = {"node": address(server, "w-1")}

        async def told(request: pb.EventsRequest, until: str) -> list[str]:
            found = []
            async with node.machine.Events.open(timeout=DEADLINE, metadata=route) as stream:
                await stream.send_message(request, end=True)
                await stream.recv_message()  # the stream has begun
                async for event in stream:
                    found.append(event.id)
                    if event.data.type_url.endswith(until):
                        await stream.cancel()
                        break
            return found

        first = await told(pb.EventsRequest(tail_events=-1), "machine.SequenceEvent")
        await node.machine.Reboot(pb.RebootRequest(), metadata=route, timeout=DEADLINE)
        await settled(server, lambda: server.world.machines["w-1"].boots == 3 and ready(server, "w-1"))
        second = await told(pb.EventsRequest(tail_id=first[-1]), "machine.MachineStatusEvent")
        assert second and min(second) > max(first)


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
