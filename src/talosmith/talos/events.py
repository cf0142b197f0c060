"""What happens on a node, as it happens: boot sequences and their tasks, services, the stage of the machine."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from google.protobuf.message import DecodeError

from talosmith.talos.grpc.caller import FOLLOWING, NO_CHANNEL, Caller
from talosmith.talos.proto import machine_pb2 as wire
from talosmith.talos.proto.services import MachineServiceStub
from talosmith.talos.views import MachineStatus, Unmet

_MACHINE = MachineServiceStub(NO_CHANNEL)
_PACKAGE = "machine."


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """A sequence such as `boot` or `reset` begins, ends, or fails with `error`."""

    sequence: str
    action: str  # noop, start, stop
    error: str


@dataclass(frozen=True, slots=True)
class PhaseStep:
    """A phase of a sequence begins or ends."""

    phase: str
    action: str


@dataclass(frozen=True, slots=True)
class TaskStep:
    """A task of a phase begins or ends."""

    task: str
    action: str


@dataclass(frozen=True, slots=True)
class ServiceStep:
    """A service changes its state."""

    service: str
    action: str  # initialized, preparing, waiting, running, stopping, finished, failed, skipped, starting
    message: str
    healthy: bool | None


@dataclass(frozen=True, slots=True)
class AddressesChanged:
    """The node has got other addresses or another name."""

    hostname: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """A config could not be loaded, or is not valid."""

    error: str


@dataclass(frozen=True, slots=True)
class Restarting:
    """The machine restarts."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something of a type that this client does not know."""

    type: str


Happening = (
    SequenceStep
    | PhaseStep
    | TaskStep
    | ServiceStep
    | AddressesChanged
    | ConfigProblem
    | Restarting
    | MachineStatus
    | Unknown
)


@dataclass(frozen=True, slots=True)
class Event:
    """`actor` is the id that `reboot`, `reset` and their like returned, when the event follows from such a call."""

    id: str
    actor: str
    what: Happening

    @property
    def at(self) -> datetime:
        """By the node's clock, to the second: Talos' event ids are xids, which begin with the time."""
        try:
            raw = base64.b32hexdecode(self.id.upper() + "=" * (-len(self.id) % 8))
        except binascii.Error:
            raw = b""
        return datetime.fromtimestamp(int.from_bytes(raw[:4]), UTC)


class EventCalls(Caller):
    """The stream of events."""

    async def events(
        self,
        *,
        tail: int = 0,
        tail_seconds: int = 0,
        after: str = "",
        actor: str = "",
        timeout: float = FOLLOWING,
    ) -> AsyncIterator[Event]:
        """From now on, or from the last `tail` events (-1: all that are kept), until the caller stops."""
        request = wire.EventsRequest(tail_events=tail, tail_seconds=tail_seconds, tail_id=after, with_actor_id=actor)
        async for event in self._stream(_MACHINE.Events, request, timeout=timeout):
            self._check(_MACHINE.Events, event)
            if event.data.type_url:  # the first one is empty: it only says that the stream stands
                yield Event(event.id, event.actor_id, _read(event.data.type_url, event.data.value))


def _read(type_url: str, value: bytes) -> Happening:
    name = type_url.rpartition("/")[2].removeprefix(_PACKAGE)
    if name not in _READERS:
        return Unknown(name)
    kind, read = _READERS[name]
    try:
        return read(kind.FromString(value))
    except DecodeError:
        return Unknown(name)


def _action(message: Any) -> str:
    """The name of the action; a number that has none stays a number."""
    names: dict[int, str] = {number: name for name, number in message.Action.items()}
    return names.get(message.action, str(message.action)).lower()


def _service(message: wire.ServiceStateEvent) -> ServiceStep:
    healthy = None if message.health.unknown else message.health.healthy
    return ServiceStep(message.service, _action(message), message.message, healthy)


def _status(message: wire.MachineStatusEvent) -> MachineStatus:
    names = {number: name for name, number in wire.MachineStatusEvent.MachineStage.items()}
    return MachineStatus(
        stage=names.get(message.stage, str(message.stage)).lower().replace("_", " "),
        ready=message.status.ready,
        unmet=tuple(Unmet(item.name, item.reason) for item in message.status.unmet_conditions),
    )


_READERS: dict[str, tuple[Any, Callable[[Any], Happening]]] = {
    "SequenceEvent": (
        wire.SequenceEvent,
        lambda event: SequenceStep(event.sequence, _action(event), event.error.message),
    ),
    "PhaseEvent": (wire.PhaseEvent, lambda event: PhaseStep(event.phase, _action(event))),
    "TaskEvent": (wire.TaskEvent, lambda event: TaskStep(event.task, _action(event))),
    "ServiceStateEvent": (wire.ServiceStateEvent, _service),
    "AddressEvent": (wire.AddressEvent, lambda event: AddressesChanged(event.hostname, tuple(event.addresses))),
    "ConfigLoadErrorEvent": (wire.ConfigLoadErrorEvent, lambda event: ConfigProblem(event.error)),
    "ConfigValidationErrorEvent": (wire.ConfigValidationErrorEvent, lambda event: ConfigProblem(event.error)),
    "RestartEvent": (wire.RestartEvent, lambda event: Restarting()),
    "MachineStatusEvent": (wire.MachineStatusEvent, _status),
}
