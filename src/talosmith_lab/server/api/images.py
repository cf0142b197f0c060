"""Images are pulled and listed, and Talos is upgraded the way of 1.13: pull, install, then reboot.

The installer looks at nothing but itself. Whether etcd can spare the node is for the client to find out.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any

from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status

from talosmith.talos.proto import common_pb2, image_pb2, lifecycle_pb2
from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab import lifecycle
from talosmith_lab.installing import NO_SPACE
from talosmith_lab.kubernetes import STATIC_PODS
from talosmith_lab.sequences import SequenceFailed
from talosmith_lab.server.api.system import timestamp
from talosmith_lab.server.methods import Call, answers, fail
from talosmith_lab.server.pause import pause


@answers("machine.ImageService/Pull")
async def pull(call: Call, request: image_pb2.ImageServicePullRequest) -> AsyncIterator[Any]:
    layer = image_pb2.ImageServicePullLayerProgress(total=100, offset=50)
    yield image_pb2.ImageServicePullResponse(
        pull_progress=image_pb2.ImageServicePullProgress(layer_id=_digest(request.image_ref)[7:19], progress=layer)
    )
    await pause(call, "pull")
    _pull(call, request.image_ref)
    yield image_pb2.ImageServicePullResponse(name=request.image_ref)


@answers("machine.ImageService/List")
async def image_list(call: Call, request: image_pb2.ImageServiceListRequest) -> AsyncIterator[Any]:
    for name in call.machine.run.images if call.machine.run else ():
        yield image_pb2.ImageServiceListResponse(
            name=name, digest=_digest(name), size=len(name) * 1024**2, created_at=timestamp(call.world.now())
        )


@answers("machine.ImageService/Remove")
def image_remove(call: Call, request: image_pb2.ImageServiceRemoveRequest) -> Empty:
    run = call.machine.run
    if run is None or request.image_ref not in run.images:
        raise fail(Status.NOT_FOUND, f'image "{request.image_ref}": not found')
    run.images.remove(request.image_ref)
    call.world.touch(call.machine)
    call.engine.commit()
    return Empty()


@answers("machine.MachineService/ImageList")
async def old_list(call: Call, request: pb.ImageListRequest) -> AsyncIterator[pb.ImageListResponse]:
    for name in call.machine.run.images if call.machine.run else ():
        yield pb.ImageListResponse(name=name, digest=_digest(name), size=len(name) * 1024**2)


@answers("machine.MachineService/ImagePull")
async def old_pull(call: Call, request: pb.ImagePullRequest) -> pb.ImagePullResponse:
    await pause(call, "pull")
    _pull(call, request.reference)
    return pb.ImagePullResponse(messages=[pb.ImagePull()])


@answers("machine.LifecycleService/Upgrade")
async def upgrade(call: Call, request: lifecycle_pb2.LifecycleServiceUpgradeRequest) -> AsyncIterator[Any]:
    if call.machine.system is None:
        raise fail(Status.FAILED_PRECONDITION, "Talos is not installed")
    _need_image(call, request.source.image_name)
    async for progress in _install(call, request.source.image_name):
        yield lifecycle_pb2.LifecycleServiceUpgradeResponse(progress=progress)


@answers("machine.MachineService/Containers")
def containers(call: Call, request: pb.ContainersRequest) -> pb.ContainersResponse:
    listed = [
        pb.ContainerInfo(
            namespace=request.namespace, id=name, uid=name, internal_id=name, image=name, pid=1000 + number,
            status="RUNNING", pod_id=name, name=name,
        )
        for number, name in enumerate(_containers(call, request.driver))
    ]  # fmt: skip
    return pb.ContainersResponse(messages=[pb.Container(containers=listed)])


@answers("machine.MachineService/Stats")
def stats(call: Call, request: pb.StatsRequest) -> pb.StatsResponse:
    listed = [
        pb.Stat(
            namespace=request.namespace, id=name, memory_usage=32 * 1024**2, cpu_usage=10**9, pod_id=name, name=name
        )
        for name in _containers(call, request.driver)
    ]
    return pb.StatsResponse(messages=[pb.Stats(stats=listed)])


def _containers(call: Call, driver: common_pb2.ContainerDriver) -> list[str]:
    """Static pods where Kubernetes' containers are asked for, else the services that run in containers."""
    run = call.machine.run
    if driver == common_pb2.CRI:
        return [f"kube-system/{pod}-{call.machine.name}" for pod in STATIC_PODS] if run and run.static_pods else []
    return [name for name in ("apid", "etcd", "kubelet", "trustd") if call.machine.runs(name)]


async def _install(call: Call, image: str) -> AsyncIterator[lifecycle_pb2.LifecycleServiceInstallProgress]:
    yield lifecycle_pb2.LifecycleServiceInstallProgress(message=f"running Talos installer {image}")
    await pause(call, "install")
    try:
        lifecycle.write_slot(call.world, call.machine, image)
    except SequenceFailed as failure:
        yield lifecycle_pb2.LifecycleServiceInstallProgress(message=f"Error: {failure}")
        yield lifecycle_pb2.LifecycleServiceInstallProgress(exit_code=1)
        return
    call.engine.commit()
    yield lifecycle_pb2.LifecycleServiceInstallProgress(message="installation of the new version is done")
    yield lifecycle_pb2.LifecycleServiceInstallProgress(exit_code=0)


def _pull(call: Call, image: str) -> None:
    if call.machine.run is None:
        raise fail(Status.UNAVAILABLE, "the machine is off")
    if call.world.active("full-disk", call.machine.name):
        raise fail(Status.UNKNOWN, f"failed to pull image {image!r}: {NO_SPACE}")
    if not image or " " in image:
        raise fail(Status.INVALID_ARGUMENT, f"invalid image reference {image!r}")
    if image not in call.machine.run.images:
        call.machine.run.images.append(image)
        call.world.touch(call.machine)
    call.engine.commit()


def _need_image(call: Call, image: str) -> None:
    if call.machine.run is None or image not in call.machine.run.images:
        raise fail(Status.NOT_FOUND, f'failed to get image "{image}": image "{image}": not found')


def _digest(image: str) -> str:
    return "sha256:" + hashlib.sha256(image.encode()).hexdigest()
