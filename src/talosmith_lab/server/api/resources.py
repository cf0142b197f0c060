"""Resources: read and watched; clients never write them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from grpclib.const import Status

from talosmith.talos.proto import cosi_pb2 as pb
from talosmith.yaml import goyaml
from talosmith_lab.resources import Resource, get_resource, kinds_of, list_resources
from talosmith_lab.server.api.system import timestamp
from talosmith_lab.server.methods import Call, answers, fail
from talosmith_lab.server.roles import ADMIN

_KINDS = pb.EventType


@answers("cosi.resource.State/Get")
def get(call: Call, request: pb.GetRequest) -> pb.GetResponse:
    _check(call, request.type)
    found = get_resource(call.world, call.machine, request.type, request.id)
    if found is None or not _in_namespace(found, request.namespace):
        name = f"{request.type}({request.namespace}/{request.id}@undefined)"
        raise fail(Status.NOT_FOUND, f"resource {name} doesn't exist")
    return pb.GetResponse(resource=_message(found))


@answers("cosi.resource.State/List")
async def list_all(call: Call, request: pb.ListRequest) -> AsyncIterator[pb.ListResponse]:
    _check(call, request.type)
    for one in _selected(call, request.type, request.namespace, request.options.id_query.regexp):
        yield pb.ListResponse(resource=_message(one))


@answers("cosi.resource.State/Watch")
async def watch(call: Call, request: pb.WatchRequest) -> AsyncIterator[pb.WatchResponse]:
    """First an empty message, then what is there if that was asked for, then each change."""
    _check(call, request.type)
    options, boot = request.options, call.machine.boots
    if options.HasField("start_from_bookmark") and options.start_from_bookmark != _bookmark(call):
        raise fail(Status.FAILED_PRECONDITION, "buffer overrun: the bookmark is too old")
    known = _now(call, request)
    yield pb.WatchResponse()
    events = _first_events(call, request, known)
    while True:
        for batch in [events] if options.aggregated and events else [[event] for event in events]:
            yield pb.WatchResponse(event=batch)
        before, known = known, _now(call, request)
        events = _differences(call, before, known)
        if not events:
            await call.engine.changed(call.machine.name)
        if call.machine.boots != boot or not call.machine.on:
            return


@answers("cosi.resource.State/Create")
def create(call: Call, request: Any) -> Any:
    raise fail(Status.PERMISSION_DENIED, "write access denied")


@answers("cosi.resource.State/Update")
def update(call: Call, request: Any) -> Any:
    raise fail(Status.PERMISSION_DENIED, "write access denied")


@answers("cosi.resource.State/Destroy")
def destroy(call: Call, request: Any) -> Any:
    raise fail(Status.PERMISSION_DENIED, "write access denied")


def _check(call: Call, type_: str) -> None:
    run = call.machine.run
    kind = kinds_of(run.version if run else call.machine.version).get(type_)
    if kind is None:
        raise fail(Status.NOT_FOUND, f'resource "{type_}" is not registered')
    if kind.sensitive and ADMIN not in call.roles:
        raise fail(Status.PERMISSION_DENIED, "not authorized")


def _selected(call: Call, type_: str, namespace: str, pattern: str) -> list[Resource]:
    expression = re.compile(pattern)
    found = list_resources(call.world, call.machine, type_)
    return [one for one in found if _in_namespace(one, namespace) and expression.search(one.id)]


def _in_namespace(one: Resource, namespace: str) -> bool:
    return namespace in ("", one.kind.namespace)


def _now(call: Call, request: pb.WatchRequest) -> dict[str, Resource]:
    found = _selected(call, request.type, request.namespace, request.options.id_query.regexp)
    return {one.id: one for one in found if not request.HasField("id") or one.id == request.id}


def _first_events(call: Call, request: pb.WatchRequest, known: Mapping[str, Resource]) -> list[pb.Event]:
    options = request.options
    if options.HasField("start_from_bookmark"):
        return []
    there = [_event(call, _KINDS.CREATED, one) for one in known.values()]
    if request.HasField("id"):
        return there or [_gone(call, request)]
    marks = request.api_version >= 1
    if options.bootstrap_contents:
        end = [pb.Event(event_type=_KINDS.BOOTSTRAPPED, bookmark=_bookmark(call))] if marks else []
        return there + end
    if options.bootstrap_bookmark and marks:
        return [pb.Event(event_type=_KINDS.NOOP, bookmark=_bookmark(call))]
    return []


def _differences(call: Call, before: Mapping[str, Resource], after: Mapping[str, Resource]) -> list[pb.Event]:
    events = [_event(call, _KINDS.CREATED, one) for name, one in after.items() if name not in before]
    for name, one in after.items():
        if name in before and before[name].spec != one.spec:
            events.append(_event(call, _KINDS.UPDATED, one, before[name]))
    return events + [_event(call, _KINDS.DESTROYED, one) for name, one in before.items() if name not in after]


def _event(call: Call, kind: Any, one: Resource, old: Resource | None = None) -> pb.Event:
    event = pb.Event(event_type=kind, resource=_message(one), bookmark=_bookmark(call))
    if old is not None:
        event.old.CopyFrom(_message(old))
    return event


def _gone(call: Call, request: pb.WatchRequest) -> pb.Event:
    """What is watched does not exist yet."""
    metadata = pb.Metadata(
        namespace=request.namespace, type=request.type, id=request.id, version="undefined", phase="running"
    )
    resource = pb.Resource(metadata=metadata, spec=pb.Spec())
    return pb.Event(event_type=_KINDS.DESTROYED, resource=resource, bookmark=_bookmark(call))


def _bookmark(call: Call) -> bytes:
    return f"{call.machine.boots}.{call.machine.revision}".encode()


def _message(one: Resource) -> pb.Resource:
    metadata = pb.Metadata(
        namespace=one.kind.namespace,
        type=one.kind.type,
        id=one.id,
        version=str(one.version),
        owner="",
        phase="running",
        created=timestamp(one.created),
        updated=timestamp(one.updated),
    )
    if one.kind.name == "MachineConfig":
        metadata.annotations["talos.dev/yaml-spec"] = "1"
    return pb.Resource(
        metadata=metadata, spec=pb.Spec(proto_spec=one.kind.encode(one.spec), yaml_spec=_yaml(one.spec))
    )


def _yaml(spec: Any) -> str:
    if isinstance(spec, dict):
        return goyaml.dump(spec)
    # A bare text: take it out of a mapping of one key, where the emitter knows how to write it.
    return goyaml.dump({"x": spec}).removeprefix("x:").lstrip(" ")
