"""Logs, the kernel's messages, files, and the health check that a node runs over its cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.empty_pb2 import Empty

from talosmith.talos.errors import TooLarge
from talosmith.talos.grpc.caller import FOLLOWING, MIB, NO_CHANNEL, Caller
from talosmith.talos.lines import lines_of
from talosmith.talos.proto.cluster_pb2 import ClusterInfo, HealthCheckRequest
from talosmith.talos.proto.common_pb2 import CONTAINERD, CRI
from talosmith.talos.proto.machine_pb2 import CopyRequest, DmesgRequest, ListRequest, LogsRequest, ReadRequest
from talosmith.talos.proto.services import ClusterServiceStub, MachineServiceStub

_CLUSTER = ClusterServiceStub(NO_CHANNEL)
_MACHINE = MachineServiceStub(NO_CHANNEL)
_READING = 300.0
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One entry of a folder; `mode` is its permission bits, `error` says why it could not be looked at."""

    path: str
    size: int
    mode: int
    is_dir: bool
    link: str
    error: str


class StreamCalls(Caller):
    """What comes piece by piece is handed on piece by piece."""

    def logs(
        self,
        id: str,  # noqa: A002
        *,
        kubernetes: bool = False,
        follow: bool = False,
        tail: int = -1,
        timeout: float | None = None,
    ) -> AsyncIterator[str]:
        """Lines of a service's log, or of a container of Kubernetes; the last `tail` ones, -1 for all."""
        request = LogsRequest(
            namespace="k8s.io" if kubernetes else "system",
            id=id,
            driver=CRI if kubernetes else CONTAINERD,
            follow=follow,
            tail_lines=tail,
        )
        seconds = timeout or (FOLLOWING if follow else _READING)
        return lines_of(self._data(_MACHINE.Logs, request, timeout=seconds))

    async def log_names(self) -> tuple[str, ...]:
        """Whose logs the node keeps."""
        answered = await self._ask(_MACHINE.LogsContainers, Empty())
        return tuple(self._one(_MACHINE.LogsContainers, answered.messages).ids)

    def dmesg(self, *, follow: bool = False, tail: bool = False, timeout: float | None = None) -> AsyncIterator[str]:
        """The kernel's messages; `tail` leaves out those from before now."""
        seconds = timeout or (FOLLOWING if follow else _READING)
        return lines_of(self._data(_MACHINE.Dmesg, DmesgRequest(follow=follow, tail=tail), timeout=seconds))

    def read(self, path: str, *, timeout: float = _READING) -> AsyncIterator[bytes]:
        """A file's content as it comes."""
        return self._data(_MACHINE.Read, ReadRequest(path=path), timeout=timeout)

    async def read_file(self, path: str, *, largest: int = MIB) -> bytes:
        """A small file as a whole."""
        content = bytearray()
        async for piece in self.read(path):
            content += piece
            if len(content) > largest:
                raise TooLarge(self._label, f"{path} holds more than {largest} bytes", call="Read")
        return bytes(content)

    async def boot_id(self) -> str:
        """Another one after each boot."""
        return (await self.read_file(_BOOT_ID, largest=1024)).decode(errors="replace").strip()

    def copy(self, path: str, *, timeout: float = _READING) -> AsyncIterator[bytes]:
        """A file or folder as tar.gz, as it comes. Do not trust the paths in it."""
        return self._data(_MACHINE.Copy, CopyRequest(root_path=path), timeout=timeout)

    async def list_files(
        self, path: str, *, recurse: bool = False, depth: int = 0, timeout: float = _READING
    ) -> AsyncIterator[FileInfo]:
        request = ListRequest(root=path, recurse=recurse, recursion_depth=depth)
        async for item in self._stream(_MACHINE.List, request, timeout=timeout):
            self._check(_MACHINE.List, item)
            yield FileInfo(item.name, item.size, item.mode & 0o777, item.is_dir, item.link, item.error)

    async def cluster_health(
        self,
        control_planes: Sequence[str],
        workers: Sequence[str] = (),
        *,
        wait: timedelta = timedelta(minutes=20),
    ) -> AsyncIterator[str]:
        """What the node reports while it checks the cluster; ends when all is well, raises when it gives up."""
        patience = Duration()
        patience.FromTimedelta(wait)
        request = HealthCheckRequest(
            wait_timeout=patience,
            cluster_info=ClusterInfo(control_plane_nodes=control_planes, worker_nodes=workers),
        )
        seconds = wait.total_seconds() + self._limits.call_timeout
        async for step in self._stream(_CLUSTER.HealthCheck, request, timeout=seconds):
            self._check(_CLUSTER.HealthCheck, step)
            yield step.message
