"""Installing, upgrading and pulling images the way of Talos 1.13 and 1.14.

`upgrade` only runs the installer: nothing is pulled, drained, checked or rebooted by it. Pull the image first, and
reboot afterwards; the caller answers for etcd.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from talosmith.foreign_text import cleaned
from talosmith.talos.errors import Failed, NotTalos, Unsupported
from talosmith.talos.grpc.caller import NO_CHANNEL, Caller
from talosmith.talos.proto.common_pb2 import (
    CONTAINERD,
    CRI,
    NS_CRI,
    NS_SYSTEM,
    NS_TALOSCONTAINERS,
    ContainerdInstance,
)
from talosmith.talos.proto.image_pb2 import (
    ImageServiceListRequest,
    ImageServicePullLayerProgress,
    ImageServicePullRequest,
    ImageServiceRemoveRequest,
)
from talosmith.talos.proto.lifecycle_pb2 import (
    InstallArtifactsSource,
    InstallDestination,
    LifecycleServiceInstallProgress,
    LifecycleServiceInstallRequest,
    LifecycleServiceUpgradeRequest,
)
from talosmith.talos.proto.machine_pb2 import ImagePullRequest
from talosmith.talos.proto.services import ImageServiceStub, LifecycleServiceStub, MachineServiceStub
from talosmith.talos.times import read_time

_IMAGES = ImageServiceStub(NO_CHANNEL)
_LIFECYCLE = LifecycleServiceStub(NO_CHANNEL)
_MACHINE = MachineServiceStub(NO_CHANNEL)
_LONG = 1800.0  # an installer on a slow disk, an image over a slow line

Say = Callable[[str], None]


class Store(StrEnum):
    """Where images are kept on a node."""

    SYSTEM = "system"  # the installer, etcd, kubelet
    KUBERNETES = "kubernetes"  # pods
    CONTAINERS = "containers"  # of ContainerConfig documents, from Talos 1.14 on
    MEMORY = "memory"  # Talos' own services; gone at a reboot


_STORES = {
    Store.SYSTEM: ContainerdInstance(driver=CRI, namespace=NS_SYSTEM),
    Store.KUBERNETES: ContainerdInstance(driver=CRI, namespace=NS_CRI),
    Store.CONTAINERS: ContainerdInstance(driver=CRI, namespace=NS_TALOSCONTAINERS),
    Store.MEMORY: ContainerdInstance(driver=CONTAINERD, namespace=NS_SYSTEM),
}


@dataclass(frozen=True, slots=True)
class Image:
    """One that a node holds."""

    name: str
    digest: str
    size: int
    created: datetime


class LifecycleCalls(Caller):
    """`say` is called with each line of progress."""

    async def image_pull(
        self, image: str, store: Store = Store.SYSTEM, *, say: Say | None = None, timeout: float = _LONG
    ) -> str:
        """Brings an image to the node, and returns the name it has there. Older nodes are asked their way."""
        request = ImageServicePullRequest(containerd=_STORES[store], image_ref=image)
        name = ""
        try:
            async for part in self._stream(_IMAGES.Pull, request, timeout=timeout):
                name = part.name or name
                if say is not None and part.WhichOneof("response") == "pull_progress":
                    status = ImageServicePullLayerProgress.Status.Name(part.pull_progress.progress.status)
                    say(f"{cleaned(part.pull_progress.layer_id)}: {status.lower().replace('_', ' ')}")
        except Unsupported:
            old = ImagePullRequest(namespace=_STORES[store].namespace, reference=image)
            self._one(_MACHINE.ImagePull, (await self._ask(_MACHINE.ImagePull, old, timeout)).messages)
            return image
        if not name:
            raise NotTalos(self._label, f"Pull: the node did not say that {image} is there", call="Pull")
        return name

    async def images(self, store: Store = Store.SYSTEM) -> tuple[Image, ...]:
        request = ImageServiceListRequest(containerd=_STORES[store])
        return tuple(
            [
                Image(item.name, item.digest, item.size, read_time(item.created_at))
                async for item in self._stream(_IMAGES.List, request, budget=self._limits.max_answer)
            ]
        )

    async def image_remove(self, image: str, store: Store = Store.SYSTEM) -> None:
        await self._ask(_IMAGES.Remove, ImageServiceRemoveRequest(containerd=_STORES[store], image_ref=image))

    async def upgrade(self, image: str, *, say: Say | None = None, timeout: float = _LONG) -> None:
        """Runs the installer `image`, which must have been pulled into the store `SYSTEM`."""
        request = LifecycleServiceUpgradeRequest(
            containerd=_STORES[Store.SYSTEM], source=InstallArtifactsSource(image_name=image)
        )
        outcome = _Outcome(self._label, "Upgrade", say)
        async for part in self._stream(_LIFECYCLE.Upgrade, request, timeout=timeout):
            outcome.add(part.progress)
        outcome.judge()

    async def install(self, image: str, disk: str, *, say: Say | None = None, timeout: float = _LONG) -> None:
        """Runs the installer `image` on a machine that has no Talos on its disk yet."""
        request = LifecycleServiceInstallRequest(
            containerd=_STORES[Store.SYSTEM],
            source=InstallArtifactsSource(image_name=image),
            destination=InstallDestination(disk=disk),
        )
        outcome = _Outcome(self._label, "Install", say)
        async for part in self._stream(_LIFECYCLE.Install, request, timeout=timeout):
            outcome.add(part.progress)
        outcome.judge()


class _Outcome:
    """Follows an installer; only an exit code of 0 is success."""

    def __init__(self, node: str, call: str, say: Say | None) -> None:
        self._node = node
        self._call = call
        self._say = say
        self._last = ""
        self._code: int | None = None

    def add(self, progress: LifecycleServiceInstallProgress) -> None:
        if progress.WhichOneof("response") == "exit_code":
            self._code = progress.exit_code
        elif progress.message:
            self._last = cleaned(progress.message)
            if self._say is not None:
                self._say(self._last)

    def judge(self) -> None:
        if self._code == 0:
            return
        ended = f"ended with {self._code}" if self._code is not None else "did not say how it ended"
        raise Failed(
            self._node,
            f"{self._call}: the installer {ended}: {self._last or 'it said nothing'}",
            hint="The node still runs the version it ran before.",
            call=self._call,
            said=self._last,
        )
