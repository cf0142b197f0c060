"""What happened on a node: logs of services and containers, the kernel's, and events, to their end or beyond."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from grpclib.const import Status

from talosmith.talos.proto import common_pb2
from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab.records import EVENTS, KERNEL, Record
from talosmith_lab.server.methods import Call, answers, fail

_SYSTEM, _KUBERNETES = "system", "k8s.io"


@answers("machine.MachineService/Logs")
async def logs(call: Call, request: pb.LogsRequest) -> AsyncIterator[common_pb2.Data]:
    known = call.machine.run.services if call.machine.run else {}
    if request.namespace == _SYSTEM or request.id == "kubelet":
        if request.id not in known and request.id not in ("machined", KERNEL):
            raise fail(Status.UNKNOWN, f'log "{request.id}" was not registered')
    elif request.namespace == _KUBERNETES:
        if request.id not in call.engine.store.sources(call.machine.name, call.machine.boots):
            raise fail(Status.UNKNOWN, f'container "{request.id}" not found')
    else:
        raise fail(Status.INVALID_ARGUMENT, "namespace can't be empty")
    tail = request.tail_lines if request.tail_lines >= 0 else None
    async for record in _records(call, request.id, tail, request.follow):
        yield common_pb2.Data(bytes=f"{_time(record.at)} {record.text}\n".encode())


@answers("machine.MachineService/LogsContainers")
def log_names(call: Call, request: object) -> pb.LogsContainersResponse:
    names = [name for name in call.engine.store.sources(call.machine.name, call.machine.boots) if name != EVENTS]
    return pb.LogsContainersResponse(messages=[pb.LogsContainer(ids=names)])


@answers("machine.MachineService/Dmesg")
async def dmesg(call: Call, request: pb.DmesgRequest) -> AsyncIterator[common_pb2.Data]:
    tail = 0 if request.tail else None
    async for record in _records(call, KERNEL, tail, request.follow):
        facility = "user" if record.text.startswith("[talos]") else "kern"
        line = f"{facility}: {'info':>7}: [{_time(record.at)}]: {record.text}\n"
        yield common_pb2.Data(bytes=line.encode())


@answers("machine.MachineService/Events")
async def events(call: Call, request: pb.EventsRequest) -> AsyncIterator[pb.Event]:
    yield pb.Event(actor_id=request.with_actor_id)  # says that the stream has begun
    tail: int | None = max(request.tail_events, 0)
    if request.tail_events < 0 or request.tail_id or request.tail_seconds or _missed_a_boot(call):
        tail = None
    oldest = call.world.clock_of(call.machine) - request.tail_seconds if request.tail_seconds else 0.0
    async for record in _records(call, EVENTS, tail, follow=True):
        later = record.id > request.tail_id  # ids are in the order of time, also from one boot to the next
        if later and record.at >= oldest and request.with_actor_id in ("", record.actor):
            yield _event(record)


def _missed_a_boot(call: Call) -> bool:
    """Whether the client followed an earlier boot.

    Clients look again once a second. A reboot that takes less would be over without them having seen a thing, and
    they would wait for it for ever; so they are told of this boot from its beginning.
    """
    last = call.engine.watched.get((call.machine.name, call.client))
    call.engine.watched[call.machine.name, call.client] = call.machine.boots
    return last is not None and last != call.machine.boots


async def _records(call: Call, source: str, tail: int | None, follow: bool) -> AsyncIterator[Record]:
    """Those that are there, of which `tail` may want only the last; then, if asked, each new one."""
    store, machine, boot = call.engine.store, call.machine, call.machine.boots
    found = store.records(machine.name, boot, source)
    last = found[-1][0] if found else store.last_record()
    for _, record in found if tail is None else found[len(found) - min(tail, len(found)) :]:
        yield record
    while follow:
        over = machine.boots != boot or not machine.on  # asked first: what was said until then is told
        new = store.records(machine.name, boot, source, after=last)
        for number, record in new:
            last = number
            yield record
        if over:
            return
        if not new:
            await call.engine.changed(machine.name)


def _event(record: Record) -> pb.Event:
    message: Message = getattr(pb, record.kind)()
    ParseDict(record.payload, message)
    packed = AnyMessage(type_url=f"talos/runtime/machine.{record.kind}", value=message.SerializeToString())
    return pb.Event(data=packed, id=record.id, actor_id=record.actor)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
