"""The machine, its config, its power and its services: what is asked on the wire, and what comes of the answers."""

from __future__ import annotations

import gzip
import io
import ssl
import tarfile
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from grpclib.const import Status

from talosmith.errors import UsageError
from talosmith.model.secret import Secret
from talosmith.talos import (
    Applied,
    ApplyMode,
    Container,
    Disk,
    Failed,
    Memory,
    Mount,
    NotFound,
    NotReady,
    NotTalos,
    RebootMode,
    Store,
    TalosClient,
    TimeReading,
    Version,
    Wipe,
)
from talosmith.talos.proto import image_pb2, lifecycle_pb2, storage_pb2, time_pb2
from talosmith.talos.proto import machine_pb2 as wire
from talosmith.talos.proto.common_pb2 import Data
from tests.unit.talos.server import Recording, answer, answers, fails, serving

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def stamp(moment: datetime) -> Timestamp:
    made = Timestamp()
    made.FromDatetime(moment)
    return made


async def test_what_the_machine_is(client: TalosClient, context: ssl.SSLContext) -> None:
    version = wire.Version(
        version=wire.VersionInfo(tag="v1.13.9", sha="abc", arch="amd64"),
        platform=wire.PlatformInfo(name="nocloud", mode="cloud"),
        features=wire.FeaturesInfo(rbac=True),
    )
    async with serving(
        context,
        machine_Version=answer(wire.VersionResponse(messages=[version])),
        machine_Hostname=answer(wire.HostnameResponse(messages=[wire.Hostname(hostname="cp-1")])),
        machine_LoadAvg=answer(wire.LoadAvgResponse(messages=[wire.LoadAvg(load1=1, load5=0.5, load15=0.25)])),
        machine_Memory=answer(
            wire.MemoryResponse(
                messages=[wire.Memory(meminfo=wire.MemInfo(memtotal=8, memfree=2, memavailable=4))],
            )
        ),
        machine_Mounts=answer(
            wire.MountsResponse(
                messages=[
                    wire.Mounts(
                        stats=[wire.MountStat(filesystem="/dev/sda6", size=100, available=60, mounted_on="/var")]
                    )
                ]
            )
        ),
    ) as address:
        node = client.node(address)
        assert await node.version() == Version("v1.13.9", "abc", "amd64", "nocloud", "cloud", True)
        assert await node.hostname() == "cp-1"
        assert await node.load_average() == (1.0, 0.5, 0.25)
        assert await node.memory() == Memory(8192, 2048, 4096)
        assert await node.mounts() == (Mount("/dev/sda6", "/var", 100, 60),)


async def test_disks_and_wiping_one(client: TalosClient, context: ssl.SSLContext) -> None:
    disk = storage_pb2.Disk(
        device_name="/dev/vda", size=10, model="m", serial="s", type=storage_pb2.Disk.NVME, wwid="w", system_disk=True
    )
    wiped = Recording(storage_pb2.BlockDeviceWipeResponse(messages=[storage_pb2.BlockDeviceWipe()]))
    async with serving(
        context,
        storage_Disks=answer(storage_pb2.DisksResponse(messages=[storage_pb2.Disks(disks=[disk])])),
        storage_BlockDeviceWipe=wiped,
    ) as address:
        node = client.node(address)
        assert await node.disks() == (Disk("/dev/vda", 10, "m", "s", "nvme", "w", "", "", "", True, False),)
        await node.wipe_disk("vdb", zeroes=True)
    (device,) = wiped.requests[0].devices
    assert (device.device, device.method) == ("vdb", storage_pb2.BlockDeviceWipeDescriptor.ZEROES)


async def test_the_clock(client: TalosClient, context: ssl.SSLContext) -> None:
    reading = time_pb2.Time(server="ntp", localtime=stamp(NOON + timedelta(seconds=3)), remotetime=stamp(NOON))
    checked = Recording(time_pb2.TimeResponse(messages=[reading]))
    async with serving(
        context, time_Time=answer(time_pb2.TimeResponse(messages=[reading])), time_TimeCheck=checked
    ) as address:
        node = client.node(address)
        found = await node.time()
        assert found == TimeReading("ntp", NOON + timedelta(seconds=3), NOON)
        assert found.offset == timedelta(seconds=3)
        assert await node.time("other") == found
    assert checked.requests[0].server == "other"


@pytest.mark.parametrize(
    ("mode", "number"),
    [
        (ApplyMode.REBOOT, 0),
        (ApplyMode.AUTO, 1),
        (ApplyMode.NO_REBOOT, 2),
        (ApplyMode.STAGED, 3),
        (ApplyMode.TRY, 4),
    ],
)
async def test_a_config_in_each_mode(
    client: TalosClient, context: ssl.SSLContext, mode: ApplyMode, number: int
) -> None:
    reply = wire.ApplyConfiguration(mode=2, warnings=["old field"], mode_details="Applied")  # type: ignore[arg-type]
    apply = Recording(wire.ApplyConfigurationResponse(messages=[reply]))
    async with serving(context, machine_ApplyConfiguration=apply) as address:
        applied = await client.node(address).apply_config(Secret("version: v1alpha1"), mode)
    assert applied == Applied(ApplyMode.NO_REBOOT, ("old field",), "Applied")
    (request,) = apply.requests
    assert (request.data, request.mode, request.dry_run) == (b"version: v1alpha1", number, False)
    assert not request.HasField("try_mode_timeout")


async def test_a_dry_run_and_a_try(client: TalosClient, context: ssl.SSLContext) -> None:
    reply = wire.ApplyConfigurationResponse(messages=[wire.ApplyConfiguration(mode_details="- token: abc")])
    apply = Recording(reply, reply)
    async with serving(context, machine_ApplyConfiguration=apply) as address:
        node = client.node(address)
        applied = await node.apply_config("x", dry_run=True)
        assert applied.details == "- token: abc"
        assert "abc" not in repr(applied)
        await node.apply_config(b"x", ApplyMode.TRY, try_for=timedelta(minutes=2))
        with pytest.raises(UsageError):
            await node.apply_config("x", try_for=timedelta(minutes=2))
    assert apply.requests[0].dry_run
    assert apply.requests[1].try_mode_timeout.seconds == 120


async def test_bootstrap_and_waiting_for_it(client: TalosClient, context: ssl.SSLContext) -> None:
    bootstrap = Recording(wire.BootstrapResponse(messages=[wire.Bootstrap()]))
    async with serving(context, machine_Bootstrap=bootstrap) as address:
        await client.node(address).bootstrap(recover=True, skip_hash_check=True)
    assert bootstrap.requests[0].recover_etcd
    assert bootstrap.requests[0].recover_skip_hash_check
    handler = fails(Status.FAILED_PRECONDITION, "time is not in sync yet")
    async with serving(context, machine_Bootstrap=handler) as address:
        with pytest.raises(NotReady, match="not in sync"):
            await client.node(address).bootstrap()
        with pytest.raises(UsageError):
            await client.node(address).bootstrap(skip_hash_check=True)


def packed(name: str, content: bytes, **fields: Any) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        for field, value in fields.items():
            setattr(member, field, value)
        archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def sparse(name: str, size: int) -> bytes:
    """A file that says to be of some size, all of it holes, as GNU tar writes such."""
    member = tarfile.TarInfo(name)
    member.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = f"{size:011o}\0".encode()
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    return gzip.compress(bytes(header) + bytes(1024))


def in_pieces(content: bytes, size: int = 100) -> list[Data]:
    return [Data(bytes=content[start : start + size]) for start in range(0, len(content), size)]


async def test_a_kubeconfig_is_unpacked(client: TalosClient, context: ssl.SSLContext) -> None:
    pieces = in_pieces(packed("kubeconfig", b"apiVersion: v1\n" * 50))
    async with serving(context, machine_Kubeconfig=answers(*pieces)) as address:
        found = await client.node(address).kubeconfig()
    assert found.reveal() == "apiVersion: v1\n" * 50
    assert repr(found) == "***"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cut off"),
        (b"not gzip at all", "not gzip"),
        (packed("kubeconfig", b"x")[:-20], "cut off"),
        (gzip.compress(b"not a tar"), "not a tar"),
        (packed("other", b"x"), "no file"),
        (packed("../kubeconfig", b"x"), "no file"),
        (packed("kubeconfig", b"", type=tarfile.SYMTYPE, linkname="/etc/shadow"), "no file"),
        (packed("kubeconfig", bytes(8 * 1024**2)), "more than"),
        (sparse("kubeconfig", 8 * 1024**3 - 1), "no file"),
        (packed("kubeconfig", b"\xff\xfe"), "not text"),
    ],
    ids=["empty", "text", "cut", "no tar", "other", "above", "link", "bomb", "holes", "bytes"],
)
async def test_a_kubeconfig_that_is_an_attack(
    client: TalosClient, context: ssl.SSLContext, content: bytes, why: str
) -> None:
    async with serving(context, machine_Kubeconfig=answers(*in_pieces(content, 60_000))) as address:
        with pytest.raises(NotTalos, match=why):
            await client.node(address).kubeconfig()


async def test_a_client_config(client: TalosClient, context: ssl.SSLContext) -> None:
    reply = wire.GenerateClientConfiguration(talosconfig=b"context: x")
    made = Recording(wire.GenerateClientConfigurationResponse(messages=[reply]))
    async with serving(context, machine_GenerateClientConfiguration=made) as address:
        found = await client.node(address).client_config(["os:reader"], timedelta(hours=1))
    assert found.reveal() == "context: x"
    assert (list(made.requests[0].roles), made.requests[0].crt_ttl.seconds) == (["os:reader"], 3600)


async def test_power(client: TalosClient, context: ssl.SSLContext) -> None:
    reboot = Recording(wire.RebootResponse(messages=[wire.Reboot(actor_id="a")]))
    shutdown = Recording(wire.ShutdownResponse(messages=[wire.Shutdown(actor_id="b")]))
    reset = Recording(*[wire.ResetResponse(messages=[wire.Reset(actor_id="c")])] * 2)
    upgrade = Recording(wire.UpgradeResponse(messages=[wire.Upgrade(actor_id="d")]))
    rollback = Recording(wire.RollbackResponse(messages=[wire.Rollback()]))
    async with serving(
        context,
        machine_Reboot=reboot,
        machine_Shutdown=shutdown,
        machine_Reset=reset,
        machine_Upgrade=upgrade,
        machine_Rollback=rollback,
    ) as address:
        node = client.node(address)
        assert await node.reboot(RebootMode.POWERCYCLE) == "a"
        assert await node.shutdown(force=True) == "b"
        assert await node.reset(graceful=False, reboot=True, partitions=["STATE", "EPHEMERAL"]) == "c"
        await node.reset(user_disks=["/dev/sdb"], wipe=Wipe.USER_DISKS)
        assert await node.upgrade_legacy("installer:v1", stage=True) == "d"
        await node.rollback()
        for wrong in (
            node.reset(partitions=["STATE"], wipe=Wipe.USER_DISKS),
            node.reset(user_disks=["/dev/sdb"], wipe=Wipe.SYSTEM_DISK),
            node.upgrade_legacy("x", reboot_mode=RebootMode.FORCE),
        ):
            with pytest.raises(UsageError):
                await wrong
    assert reboot.requests[0].mode == 1
    assert shutdown.requests[0].force
    first, second = reset.requests
    assert (first.graceful, first.reboot, first.mode) == (False, True, 0)
    assert [(part.label, part.wipe) for part in first.system_partitions_to_wipe] == [
        ("STATE", True),
        ("EPHEMERAL", True),
    ]
    assert (second.graceful, list(second.user_disks_to_wipe), second.mode) == (True, ["/dev/sdb"], 2)
    # `preserve` and `force` would have the node skip its checks of etcd.
    asked = upgrade.requests[0]
    assert (asked.image, asked.stage, asked.preserve, asked.force) == ("installer:v1", True, False, False)


async def test_services(client: TalosClient, context: ssl.SSLContext) -> None:
    infos = [
        wire.ServiceInfo(
            id="etcd",
            state="Running",
            health=wire.ServiceHealth(healthy=True, last_message="ok"),
            events=wire.ServiceEvents(events=[wire.ServiceEvent(msg="up", state="Running", ts=stamp(NOON))]),
        ),
        wire.ServiceInfo(id="udevd", state="Preparing", health=wire.ServiceHealth(unknown=True)),
    ]
    restart = Recording(wire.ServiceRestartResponse(messages=[wire.ServiceRestart(resp="restarted")]))
    async with serving(
        context,
        machine_ServiceList=answer(wire.ServiceListResponse(messages=[wire.ServiceList(services=infos)])),
        machine_ServiceStart=answer(wire.ServiceStartResponse(messages=[wire.ServiceStart(resp="started")])),
        machine_ServiceStop=answer(wire.ServiceStopResponse(messages=[wire.ServiceStop(resp="stopped")])),
        machine_ServiceRestart=restart,
        machine_Containers=answer(
            wire.ContainersResponse(
                messages=[wire.Container(containers=[wire.ContainerInfo(namespace="system", id="apid", pid=7)])]
            )
        ),
    ) as address:
        node = client.node(address)
        etcd, udevd = await node.services()
        assert (etcd.id, etcd.running, etcd.healthy, etcd.message) == ("etcd", True, True, "ok")
        assert (etcd.events[0].state, etcd.events[0].message, etcd.events[0].time) == ("Running", "up", NOON)
        assert (udevd.running, udevd.healthy) == (False, None)
        assert await node.service("etcd") == etcd
        with pytest.raises(NotFound, match="'kubelet'"):
            await node.service("kubelet")
        assert await node.service_start("x") == "started"
        assert await node.service_stop("x") == "stopped"
        assert await node.service_restart("kubelet") == "restarted"
        assert await node.containers() == (Container("system", "apid", "", "", "", 7, ""),)
    assert restart.requests[0].id == "kubelet"


def progress(**fields: Any) -> lifecycle_pb2.LifecycleServiceUpgradeResponse:
    return lifecycle_pb2.LifecycleServiceUpgradeResponse(
        progress=lifecycle_pb2.LifecycleServiceInstallProgress(**fields)
    )


async def test_an_upgrade_the_way_of_1_13(client: TalosClient, context: ssl.SSLContext) -> None:
    parts = [
        image_pb2.ImageServicePullResponse(
            pull_progress=image_pb2.ImageServicePullProgress(
                layer_id="abc",
                progress=image_pb2.ImageServicePullLayerProgress(
                    status=image_pb2.ImageServicePullLayerProgress.DOWNLOAD_COMPLETE
                ),
            )
        ),
        image_pb2.ImageServicePullResponse(name="installer@sha256:1"),
    ]
    said: list[str] = []
    async with serving(
        context,
        image_Pull=answers(*parts),
        lifecycle_Upgrade=answers(progress(message="copying"), progress(message="done"), progress(exit_code=0)),
    ) as address:
        node = client.node(address)
        assert await node.image_pull("installer:v1", say=said.append) == "installer@sha256:1"
        await node.upgrade("installer:v1", say=said.append)
    assert said == ["abc: download complete", "copying", "done"]


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([progress(message="disk is full"), progress(exit_code=3)], "ended with 3: disk is full"),
        ([progress(message="copying")], "did not say how it ended: copying"),
        ([], "did not say how it ended: it said nothing"),
    ],
)
async def test_an_upgrade_that_does_not_end_well(
    client: TalosClient, context: ssl.SSLContext, parts: list[Any], why: str
) -> None:
    async with serving(context, lifecycle_Upgrade=answers(*parts)) as address:
        with pytest.raises(Failed, match=why):
            await client.node(address).upgrade("installer:v1")


async def test_an_image_on_an_older_node(client: TalosClient, context: ssl.SSLContext) -> None:
    pull = Recording(wire.ImagePullResponse(messages=[wire.ImagePull()]))
    async with serving(context, machine_ImagePull=pull) as address:
        assert await client.node(address).image_pull("kubelet:v1", Store.KUBERNETES) == "kubelet:v1"
    assert (pull.requests[0].namespace, pull.requests[0].reference) == (2, "kubelet:v1")


async def test_an_image_that_never_arrives(client: TalosClient, context: ssl.SSLContext) -> None:
    async with serving(context, image_Pull=answers()) as address:
        with pytest.raises(NotTalos, match="did not say"):
            await client.node(address).image_pull("kubelet:v1")


async def test_images_on_a_node(client: TalosClient, context: ssl.SSLContext) -> None:
    reply = image_pb2.ImageServiceListResponse(name="n", digest="d", size=5, created_at=stamp(NOON))
    async with serving(context, image_List=answers(reply, reply)) as address:
        found = await client.node(address).images()
    assert [(image.name, image.digest, image.size, image.created) for image in found] == [("n", "d", 5, NOON)] * 2
