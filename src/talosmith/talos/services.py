"""The services that Talos itself runs on a node: etcd, kubelet, apid and their like; and containers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from google.protobuf.empty_pb2 import Empty

from talosmith.talos.errors import NotFound
from talosmith.talos.grpc.caller import NO_CHANNEL, Caller
from talosmith.talos.proto.common_pb2 import CONTAINERD, CRI
from talosmith.talos.proto.machine_pb2 import (
    ContainersRequest,
    ServiceRestartRequest,
    ServiceStartRequest,
    ServiceStopRequest,
)
from talosmith.talos.proto.services import MachineServiceStub
from talosmith.talos.times import read_time

_MACHINE = MachineServiceStub(NO_CHANNEL)


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """A step in a service's life."""

    state: str
    message: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Service:
    """`healthy` is None where nothing checks."""

    id: str
    state: str  # Preparing, Waiting, Running, Finished, Failed, …
    healthy: bool | None
    message: str
    events: tuple[ServiceEvent, ...]

    @property
    def running(self) -> bool:
        return self.state == "Running"


@dataclass(frozen=True, slots=True)
class Container:
    """A container or, where `name` is empty, the sandbox of a pod."""

    namespace: str
    id: str
    name: str
    pod: str
    image: str
    pid: int
    status: str


class ServiceCalls(Caller):
    """Looking at services, and starting and stopping them."""

    async def services(self) -> tuple[Service, ...]:
        reply = self._one(_MACHINE.ServiceList, (await self._ask(_MACHINE.ServiceList, Empty())).messages)
        return tuple(
            Service(
                id=item.id,
                state=item.state,
                healthy=None if item.health.unknown else item.health.healthy,
                message=item.health.last_message,
                events=tuple(
                    ServiceEvent(event.state, event.msg, read_time(event.ts)) for event in item.events.events
                ),
            )
            for item in reply.services
        )

    async def service(self, id: str) -> Service:  # noqa: A002 - it is what Talos calls it
        for service in await self.services():
            if service.id == id:
                return service
        raise NotFound(self._label, f"has no service {id!r}", call="ServiceList")

    async def service_start(self, id: str) -> str:  # noqa: A002
        answered = await self._ask(_MACHINE.ServiceStart, ServiceStartRequest(id=id))
        return str(self._one(_MACHINE.ServiceStart, answered.messages).resp)

    async def service_stop(self, id: str) -> str:  # noqa: A002
        answered = await self._ask(_MACHINE.ServiceStop, ServiceStopRequest(id=id), 60.0)
        return str(self._one(_MACHINE.ServiceStop, answered.messages).resp)

    async def service_restart(self, id: str) -> str:  # noqa: A002
        answered = await self._ask(_MACHINE.ServiceRestart, ServiceRestartRequest(id=id), 60.0)
        return str(self._one(_MACHINE.ServiceRestart, answered.messages).resp)

    async def containers(self, *, kubernetes: bool = False) -> tuple[Container, ...]:
        """Those of Talos itself, or those of Kubernetes."""
        request = ContainersRequest(
            namespace="k8s.io" if kubernetes else "system", driver=CRI if kubernetes else CONTAINERD
        )
        reply = self._one(_MACHINE.Containers, (await self._ask(_MACHINE.Containers, request)).messages)
        return tuple(
            Container(item.namespace, item.id, item.name, item.pod_id, item.image, item.pid, item.status)
            for item in reply.containers
        )
